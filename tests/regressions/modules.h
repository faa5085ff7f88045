// The weights that most reports need, as their exporters spell them. Codes are all 1.0 unless told otherwise, so that a
// value is what the scales say.
#pragma once
#include <string>

#include "tests/support/model_builder.h"

namespace tessera::test {

inline constexpr std::uint8_t kOnes = 0x22;  // two E2M1 codes of 1.0
inline constexpr std::uint8_t kTwo = 0x40;   // 2.0 in E4M3
inline constexpr std::uint8_t kOne = 0x38;   // 1.0 in E4M3
inline constexpr std::uint8_t kE8m0One = 127;

// compressed-tensors NVFP4, [rows, cols]; block scales of 2: values are 2 / global.
inline ModelBuilder& add_ct_nvfp4(ModelBuilder& b, const std::string& m, float global, std::int64_t rows = 2,
                                  std::int64_t cols = 16, std::uint8_t codes = kOnes) {
  return b.bytes(m + ".weight_packed", DType::kU8, {rows, cols / 2}, {codes})
      .bytes(m + ".weight_scale", DType::kF8E4M3, {rows, cols / 16}, {kTwo})
      .numbers(m + ".weight_global_scale", DType::kF32, {1}, {global});
}

// ModelOpt NVFP4; block scales of 2: values are 2 * global.
inline ModelBuilder& add_mo_nvfp4(ModelBuilder& b, const std::string& m, float global, std::int64_t rows = 2,
                                  std::int64_t cols = 16) {
  return b.bytes(m + ".weight", DType::kU8, {rows, cols / 2}, {kOnes})
      .bytes(m + ".weight_scale", DType::kF8E4M3, {rows, cols / 16}, {kTwo})
      .numbers(m + ".weight_scale_2", DType::kF32, {}, {global});
}

// FP8 [4, 32] of one scale: values are it.
inline ModelBuilder& add_fp8(ModelBuilder& b, const std::string& m, DType dtype, Shape shape, float scale) {
  return b.bytes(m + ".weight", DType::kF8E4M3, {4, 32}, {kOne})
      .numbers(m + ".weight_scale", dtype, std::move(shape), {scale});
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace tessera::test
