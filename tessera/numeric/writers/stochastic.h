// The format's own rule with stochastic rounding: an element between two codes takes the upper one with the probability
// of its position between them. The draw belongs to the logical element (RandomKey), so any cut gives the same bits.
// Source: the scales of nearest.h; rounding in numeric/lanes.h, encode_magnitude_stochastic.
#pragma once
#include "tessera/numeric/writers/nearest.h"

namespace tessera::writers {

struct StochasticRule : NearestRule {
  static constexpr Encode encode(const Format& f, DType source) {
    Encode e = NearestRule::encode(f, source);
    e.stochastic = true;
    return e;
  }
};

inline constexpr WriterOf<StochasticRule> stochastic{{.name = "stochastic",
                                                      .description = "the format's own rule, stochastic rounding",
                                                      .supports = &NearestRule::supports,
                                                      .refuses_non_finite = [](const Format&) { return true; }}};

}  // namespace tessera::writers
