// What happened to one of the texts that a request asks for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::server {

struct ToldToken {
  std::string bytes;
  std::optional<double> logprob{};                    // none: of the first token of a prompt
  std::vector<std::pair<std::string, double>> top{};  // bytes of the likeliest, falling
  std::int64_t offset = 0;                            // characters before it, from where the new text begins
};

struct TextEnd {
  std::string reason;       // "stop" or "length"; empty: it failed
  std::int64_t tokens = 0;  // that were written, the one that ends the text too
  std::string error{};      // why it failed
};

struct TextEvent {
  std::size_t choice = 0;
  std::string text{};               // whole UTF-8 that is certain now
  std::vector<ToldToken> prompt{};  // in the first event, where they were asked for: after the prompt's first
  std::vector<ToldToken> tokens{};  // whose text has begun to come out
  std::optional<TextEnd> end{};     // of the last event
};

}  // namespace tessera::server
