// One block of 256 elements of ggml's k-quants as numbers: 16 or 8 parts with a small scale each (and, in Q2_K, Q4_K
// and Q5_K, a small minimum), under f16 factors of the block. Law: ggml's values bit for bit; products and differences
// in f32, each rounded once. Source: ggml's block_q*_K and dequantize_row_q*_K, gguf-py's quants.py;
// docs/formats/gguf.md; fixtures containers/gguf/ok_k_quants, gguf/gguf_decode.
#pragma once
#include <cstdint>

namespace tessera {

// in: 84, 110, 144, 176 and 210 bytes; out: 256 values.
void decode_q2_k(const std::uint8_t* in, float* out);
void decode_q3_k(const std::uint8_t* in, float* out);
void decode_q4_k(const std::uint8_t* in, float* out);
void decode_q5_k(const std::uint8_t* in, float* out);
void decode_q6_k(const std::uint8_t* in, float* out);

}  // namespace tessera
