// The blocks of GGUF tensors as numbers, or as codes and scales.
// Rows hold whole blocks, so a span of blocks is a span of the tensor's elements in order, wherever it begins.
// Source: ggml's dequantize_row_* and gguf-py's quants.py; spec 1.16; fixtures text/gguf, numerics/gguf_decode.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/io/ggml_type.h"

namespace tessera {

// F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, MXFP4, NVFP4.
bool can_dequantize(const GgmlType& type);

// out: as many elements as the blocks hold. Law: equal to ggml's values bit for bit (every operation in f32, each
// rounded once); NaNs stay NaNs. Throws kUnsupported, naming the type, for the others; kShape when the sizes do not
// fit.
void dequantize_ggml(const GgmlType& type, std::span<const std::byte> blocks, std::span<float> out);

// What MXFP4 and NVFP4 blocks hold, in the order of a QuantizedTensor.
struct SplitBlocks {
  std::span<std::byte> codes;   // elements / 2 bytes: E2M1, two a byte, low nibble first
  std::span<std::byte> scales;  // MXFP4: E8M0, one per 32 elements. NVFP4: E4M3, one per 16
};
// Returns how many scale bytes were replaced by the E4M3 byte of the same value. ggml reads NVFP4's scales as unsigned:
// it ignores bit 7 and takes 0x7F for 0, so 0x7F and 0x80 become 0x00, 0x81..0xFE lose their bit 7. Codes are copied: 8
// is E2M1's -0, which ggml reads as 0. Law: decoding the result gives dequantize_ggml's values, zeros by value. Throws
// kCorrupt for a scale that no byte has: NVFP4's 0xFF (480), MXFP4's 0xFF (2^128), naming the block; kUnsupported for
// other types; kShape when the sizes do not fit.
std::int64_t split_ggml(const GgmlType& type, std::span<const std::byte> blocks, const SplitBlocks& into);

}  // namespace tessera
