#include "tessera/nn/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/base/error.h"

namespace tessera::nn {
namespace {

struct RopeConfig {
  const Json* config = nullptr;   // of the model
  const Json* scaling = nullptr;  // rope_parameters or rope_scaling; null: none

  const Json* find(std::string_view key) const {
    const Json* found = scaling != nullptr ? scaling->find(key) : nullptr;
    return found != nullptr && !found->is_null() ? found : nullptr;
  }
  double number(std::string_view key, double otherwise) const {
    const Json* found = find(key);
    return found != nullptr ? found->as_double() : otherwise;
  }
  double required(std::string_view key) const {
    const Json* found = find(key);
    require(found != nullptr, Errc::kInvalid, "the configuration's rope scaling has no '{}'", key);
    return found->as_double();
  }
  double model_number(std::string_view key, double otherwise) const {
    const Json* found = config->find(key);
    return found != nullptr && found->is_number() ? found->as_double() : otherwise;
  }
};

// f32, as the reference computes them: a power and its reciprocal, each rounded.
std::vector<float> plain(double theta, std::int64_t rotary) {
  std::vector<float> radians;
  for (std::int64_t i = 0; i < rotary; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(rotary);
    const auto power = static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)), double{exponent}));
    radians.push_back(1.f / power);
  }
  return radians;
}

// Low frequencies are divided by the factor, high ones stay, between them a blend.
void scale_llama3(const RopeConfig& c, std::vector<float>& radians) {
  const auto factor = static_cast<float>(c.required("factor")), low = static_cast<float>(c.required("low_freq_factor")),
             high = static_cast<float>(c.required("high_freq_factor"));
  const auto length = static_cast<float>(c.required("original_max_position_embeddings"));
  for (float& f : radians) {
    const float wavelength = 2 * std::numbers::pi_v<float> / f;
    if (wavelength > length / low) {
      f = f / factor;
    } else if (wavelength >= length / high) {
      const float smooth = (length / wavelength - low) / (high - low);
      f = (1 - smooth) * f / factor + smooth * f;
    }
  }
}

float yarn_scale(double factor, double by) {
  return factor <= 1 ? 1.f : static_cast<float>(0.1 * by * std::log(factor) + 1);
}

void scale_yarn(const RopeConfig& c, double theta, RopeFrequencies& f) {
  const double length = c.number("original_max_position_embeddings", c.model_number("max_position_embeddings", 0));
  const double factor = c.number("factor", c.model_number("max_position_embeddings", length) / length);
  const double rotary = static_cast<double>(f.rotary());
  const auto dimension_of = [&](double turns) {
    return rotary * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double low = dimension_of(c.number("beta_fast", 32)), high = dimension_of(c.number("beta_slow", 1));
  const Json* truncate = c.find("truncate");
  if (truncate == nullptr || truncate->as_bool()) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, rotary - 1);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.radians.size(); ++i) {
    const auto ramp = static_cast<float>(std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
    const float kept = 1 - ramp, own = f.radians[i];
    f.radians[i] = own / static_cast<float>(factor) * (1 - kept) + own * kept;
  }
  const double mscale = c.number("mscale", 0), all = c.number("mscale_all_dim", 0);
  const float given =
      mscale != 0 && all != 0 ? yarn_scale(factor, mscale) / yarn_scale(factor, all) : yarn_scale(factor, 1);
  f.scale = static_cast<float>(c.number("attention_factor", given));
}

}  // namespace

RopeFrequencies rope_frequencies(const Json& config, std::int64_t head_width) {
  RopeConfig c{.config = &config, .scaling = config.find("rope_parameters")};
  if (c.scaling == nullptr || c.scaling->is_null()) c.scaling = config.find("rope_scaling");
  const double theta = c.number("rope_theta", c.model_number("rope_theta", 10000));
  const double part = c.number("partial_rotary_factor", c.model_number("partial_rotary_factor", 1));
  const auto rotary = static_cast<std::int64_t>(static_cast<double>(head_width) * part);
  require(rotary > 0 && rotary <= head_width && rotary % 2 == 0 && theta > 0, Errc::kInvalid,
          "the configuration rotates {} of a head's {} columns at theta {}", rotary, head_width, theta);
  const Json* named = c.find("rope_type") != nullptr ? c.find("rope_type") : c.find("type");
  const std::string type = named != nullptr ? named->as_string() : "default";
  RopeFrequencies f{.radians = plain(theta, rotary)};
  if (type == "linear") {
    for (float& r : f.radians) r /= static_cast<float>(c.required("factor"));
  } else if (type == "llama3") {
    scale_llama3(c, f.radians);
  } else if (type == "yarn") {
    scale_yarn(c, theta, f);
  } else {
    require(type == "default", Errc::kUnsupported,
            "the configuration's rope_type is '{}'; default, linear, llama3 and yarn have formulas here", type);
  }
  return f;
}

}  // namespace tessera::nn
