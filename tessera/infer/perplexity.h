// Perplexity: how well a model predicts a text. Windows of tokens start at 0, stride, 2 stride ...; each is read alone,
// from position 0; a window's first token is context only, and each later token is scored once, in the first window
// that reaches it; the last window ends with the text.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "tessera/infer/language_engine.h"

namespace tessera {

struct PerplexityOptions {
  std::int64_t window = 0, stride = 0;  // tokens; 1 <= stride <= window, window at least 2
};

struct ScoredToken {
  std::int64_t index = 0;  // in the text
  double nll = 0;          // nats
};

// In the order of the text. on_window(done, total): after each. Throws kInvalid for senseless options, a text of less
// than two tokens, and what the engine throws.
std::vector<ScoredToken> score_text(LanguageEngine& engine, std::span<const std::int32_t> ids,
                                    const PerplexityOptions& options,
                                    const std::function<void(std::int64_t, std::int64_t)>& on_window = {});

// A mean with the interval that holds the true one in 95 of 100 samples, the values being independent: +- 1.96 s /
// sqrt(n). Tokens of one text are not quite: the interval is a lower bound.
struct Estimate {
  double mean = 0, low = 0, high = 0;
};
Estimate estimate_mean(std::span<const double> values);

}  // namespace tessera
