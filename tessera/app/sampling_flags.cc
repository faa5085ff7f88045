#include "tessera/app/sampling_flags.h"

#include "tessera/app/language_run.h"

namespace tessera::app {

void SamplingFlags::visit(OptionVisitor& v) {
  v.option("--max-tokens", max_tokens, "N", "tokens to generate at most; default: 256");
  v.option("--temperature", temperature, "T", "0, the default: always the likeliest token");
  v.option("--top-k", top_k, "K", "only the K likeliest tokens; 0: all");
  v.option("--top-p", top_p, "P", "only the likeliest tokens that together reach P");
  v.option("--min-p", min_p, "P", "only tokens of at least P times the likeliest's probability");
  v.option("--typical-p", typical_p, "P", "only the most typical tokens that together reach P");
  v.option("--repetition-penalty", repetition_penalty, "R", "divides the logits of tokens that stand in the text");
  v.option("--presence-penalty", presence_penalty, "A", "taken from the logits of tokens that stand in the text");
  v.option("--frequency-penalty", frequency_penalty, "B", "the same, for each time that they do");
  v.list("--stop", stops, "TEXT", "ends the text where it appears; may be given more than once");
}

GenerateOptions SamplingFlags::options(const Session& session) const {
  GenerateOptions options{.stops = stops};
  options.sampling.seed = session.seed;
  if (!max_tokens.empty()) options.max_tokens = parse_whole("--max-tokens", max_tokens, 1);
  const auto number = [](std::string_view name, const std::string& text, double& value) {
    if (!text.empty()) value = parse_number(name, text);
  };
  SamplingOptions& s = options.sampling;
  number("--temperature", temperature, s.temperature);
  number("--top-k", top_k, s.top_k);
  number("--top-p", top_p, s.top_p);
  number("--min-p", min_p, s.min_p);
  number("--typical-p", typical_p, s.typical_p);
  number("--repetition-penalty", repetition_penalty, s.repetition_penalty);
  number("--presence-penalty", presence_penalty, s.presence_penalty);
  number("--frequency-penalty", frequency_penalty, s.frequency_penalty);
  return options;
}

}  // namespace tessera::app
