// The options of sampling, as every command that generates text takes them.
#pragma once
#include <string>
#include <vector>

#include "tessera/app/command.h"
#include "tessera/infer/generate.h"

namespace tessera::app {

struct SamplingFlags {
  std::string temperature, top_k, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty;
  std::string max_tokens;
  std::vector<std::string> stops;

  void visit(OptionVisitor& v);
  // Throws kInvalid for what is no number.
  GenerateOptions options(const Session& session) const;
};

}  // namespace tessera::app
