// The tensor types of GGUF: numbers, names and block sizes. All of them are listed; ggml_blocks.h decodes some.
// Source: ggml's type traits and gguf-py's GGML_QUANT_SIZES (0.19.0); Q1_0 and Q2_0: later ggml.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "tessera/numeric/dtype.h"

namespace tessera {

struct GgmlType {
  int number = 0;  // in the file
  std::string_view name;
  std::int64_t block = 1;        // elements of a block
  std::int64_t block_bytes = 1;  // bytes of a block
  DType dtype = DType::kU8;      // kU8 where the block is ggml's own
};

inline constexpr std::array<GgmlType, 35> kGgmlTypes{{
    {0, "F32", 1, 4, DType::kF32},
    {1, "F16", 1, 2, DType::kF16},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},
    {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DType::kI8},
    {25, "I16", 1, 2, DType::kI16},
    {26, "I32", 1, 4, DType::kI32},
    {27, "I64", 1, 8, DType::kI64},
    {28, "F64", 1, 8, DType::kF64},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DType::kBf16},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
    {42, "Q2_0", 64, 18},
}};

// Null for a number that no type has (4, 5, 31-33, 36-38 were removed from ggml).
constexpr const GgmlType* find_ggml_type(std::int64_t number) {
  for (const GgmlType& type : kGgmlTypes)
    if (type.number == number) return &type;
  return nullptr;
}

}  // namespace tessera
