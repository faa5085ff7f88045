// KvPage: where keys and values of 64 consecutive tokens of one layer stand in memory.
//
//   for each key-value head:  keys   [width / 2][64 tokens][2]     pairs along the head's width
//                             values [64 / 2][width][2]            pairs along the tokens
// so that a kernel reads pairs as it multiplies them. Elements are F32, BF16, or FP8 (E4M3) codes with one scale for
// all keys of a layer and one for all values. A page is a tile of attention: pages start at multiples of 64 in the
// sequence.
#pragma once
#include <cstdint>

#include "tessera/numeric/dtype.h"

namespace tessera {

struct KvPage {
  static constexpr std::int64_t kTokens = 64;

  std::int64_t heads = 0, width = 0;  // width: of a head, even
  DType type = DType::kBf16;          // kF32, kBf16 or kF8E4M3

  constexpr std::int64_t head_elements() const { return kTokens * width; }  // of keys; of values as many
  constexpr std::int64_t bytes() const { return 2 * heads * head_elements() * dtype_bits(type) / 8; }
  constexpr std::int64_t key(std::int64_t head, std::int64_t token, std::int64_t i) const {
    return 2 * head * head_elements() + (i / 2 * kTokens + token) * 2 + i % 2;
  }
  constexpr std::int64_t value(std::int64_t head, std::int64_t token, std::int64_t i) const {
    return (2 * head + 1) * head_elements() + (token / 2 * width + i) * 2 + token % 2;
  }
};

}  // namespace tessera
