#include "tessera/infer/perplexity.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/infer/log_probability.h"

namespace tessera {

std::vector<ScoredToken> score_text(LanguageEngine& engine, std::span<const std::int32_t> ids,
                                    const PerplexityOptions& options,
                                    const std::function<void(std::int64_t, std::int64_t)>& on_window) {
  const auto& [window, stride] = options;
  const auto count = static_cast<std::int64_t>(ids.size());
  require(window >= 2 && window <= engine.shape().longest, Errc::kInvalid,
          "a window of {} tokens; 2 to {} make sense for this model", window, engine.shape().longest);
  require(stride >= 1 && stride <= window, Errc::kInvalid, "a stride of {} tokens; 1 to {} make sense", stride, window);
  require(count >= 2, Errc::kInvalid, "a text of {} tokens; two at least are wanted, of which the first is context",
          count);
  std::vector<ScoredToken> scored;
  std::int64_t reached = 0;  // the first token that no window has scored or passed over
  for (std::int64_t begin = 0; begin < count; begin += stride) {
    const std::int64_t end = std::min(begin + window, count);
    Sequence sequence = engine.start();
    const auto text = ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    engine.read(sequence, text, Wanted::kAll, [&](std::int64_t token, std::span<const float> logits) {
      const std::int64_t target = begin + token + 1;
      if (target >= end || target < reached) return;
      scored.push_back({target, -log_probability(logits, ids[static_cast<std::size_t>(target)])});
    });
    reached = end;
    if (on_window) on_window(end, count);
    if (end == count) break;
  }
  return scored;
}

Estimate estimate_mean(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double x : values) sum += x;
  const double mean = sum / n;
  for (const double x : values) squares += (x - mean) * (x - mean);
  const double half = n > 1 ? 1.96 * std::sqrt(squares / (n - 1) / n) : 0;
  return {mean, mean - half, mean + half};
}

}  // namespace tessera
