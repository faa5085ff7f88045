#include "tessera/io/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr double kLow = 1, kHigh = 4;
// Of 1/divisor. The converter computes in f32: the frequency is off by some 4 ulp (2^-22), the ramp between the bands
// multiplies that by high / (high - low), and the divisor is rounded: 4/3 * 2^-22 + 2^-24 < 4e-7. The next whole
// context length moves 1/divisor by 1/(wavelength * 3), more than 2e-6 up to contexts of 140 thousand tokens.
constexpr double kTolerance = 1e-6;

double wavelength(const RopeFrequencies& frequencies, std::size_t i) {
  const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(frequencies.head_width);
  return 2 * std::numbers::pi * std::pow(frequencies.theta, exponent);
}

// 1/divisor of a frequency: 1 for short waves, 1/factor for long ones, a ramp between.
double multiplier(double wave, double factor, double context) {
  const double ramp = std::clamp((context / wave - kLow) / (kHigh - kLow), 0.0, 1.0);
  return (1 - ramp) / factor + ramp;
}

bool explains(const RopeFrequencies& frequencies, std::span<const float> divisors, double factor, double context) {
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double expected = multiplier(wavelength(frequencies, i), factor, context);
    if (!(std::abs(1 / static_cast<double>(divisors[i]) - expected) <= kTolerance)) return false;
  }
  return true;
}

// The context lengths that single divisors on the ramp ask for, rounded.
std::vector<double> candidate_contexts(const RopeFrequencies& frequencies, std::span<const float> divisors,
                                       double factor) {
  std::vector<double> contexts;
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double ramp = (1 / static_cast<double>(divisors[i]) - 1 / factor) / (1 - 1 / factor);
    if (ramp > 0 && ramp < 1)
      contexts.push_back(std::round(wavelength(frequencies, i) * (ramp * (kHigh - kLow) + kLow)));
  }
  return contexts;
}

}  // namespace

Json llama3_rope_scaling(const RopeFrequencies& frequencies, std::span<const float> divisors, std::int64_t hint) {
  require(2 * static_cast<std::int64_t>(divisors.size()) == frequencies.head_width, Errc::kShape,
          "there are {} rope divisors, and heads of {} have {} frequencies", divisors.size(), frequencies.head_width,
          frequencies.head_width / 2);
  if (std::all_of(divisors.begin(), divisors.end(), [](float divisor) { return divisor == 1; })) return nullptr;
  const double factor = *std::max_element(divisors.begin(), divisors.end());
  std::vector<double> contexts = candidate_contexts(frequencies, divisors, factor);
  if (hint > 0) contexts.insert(contexts.begin(), static_cast<double>(hint));
  for (const double context : contexts)
    if (context >= 1 && context < 1e9 && explains(frequencies, divisors, factor, context))
      return JsonObject{{"factor", factor},
                        {"high_freq_factor", kHigh},
                        {"low_freq_factor", kLow},
                        {"original_max_position_embeddings", static_cast<std::int64_t>(context)},
                        {"rope_type", "llama3"}};
  fail(Errc::kUnsupported,
       "the rope divisors do not follow Llama-3's rule (low 1, high 4), and config.json has no other name for them");
}

Json rope_scaling_of(GgufKeys& keys) {
  const std::optional<std::string> stored = keys.text("rope.scaling.type");
  std::optional<double> factor = keys.real("rope.scaling.factor");
  if (!factor) factor = keys.real("rope.scale_linear");  // its name before 2023-10
  const std::string type = stored.value_or("linear");    // ggml's default
  keys.mark_read("rope.scaling.finetuned");              // how the model was trained
  const std::optional<std::int64_t> context = keys.integer("rope.scaling.original_context_length");
  if (type == "none" || (type == "linear" && factor.value_or(1) == 1)) return nullptr;
  require(factor.has_value() && *factor > 0, Errc::kUnsupported, "{} is '{}' and {} is no positive number",
          keys.full("rope.scaling.type"), printable(type), keys.full("rope.scaling.factor"));
  if (type == "linear") return JsonObject{{"factor", *factor}, {"rope_type", "linear"}};
  require(type == "yarn", Errc::kUnsupported, "{} is '{}'; none, linear and yarn can be written into config.json",
          keys.full("rope.scaling.type"), printable(type));
  for (const std::string_view key :
       {"rope.scaling.attn_factor", "rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor",
        "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"})
    require(!keys.real(key), Errc::kUnsupported, "the key {} changes yarn in a way that config.json cannot say",
            keys.full(key));
  require(context.has_value(), Errc::kCorrupt, "rope scaling is 'yarn' and the key {} is absent",
          keys.full("rope.scaling.original_context_length"));
  return JsonObject{{"factor", *factor}, {"original_max_position_embeddings", *context}, {"rope_type", "yarn"}};
}

}  // namespace tessera
