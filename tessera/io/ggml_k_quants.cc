#include "tessera/io/ggml_k_quants.h"

#include "tessera/numeric/element.h"

namespace tessera {
namespace {

using Block = const std::uint8_t*;

constexpr int kElements = 256;

float read_f16(Block at) { return decode(kE5M10, static_cast<std::uint32_t>(at[0] | at[1] << 8)); }

// Two bits of element e: the block's halves have 32 bytes each, and a byte holds elements 32 apart, lowest bits first.
int pair_of(Block bytes, int e) { return bytes[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3; }
// One bit of element e of 256: bit e / 32 of byte e % 32.
int bit_of(Block bytes, int e) { return bytes[e % 32] >> (e / 32) & 1; }
// Four bits of element e: of every `span` elements the first half are low nibbles, the second the high ones.
int nibble_of(Block bytes, int e, int span) {
  const int half = span / 2;
  return bytes[e / span * half + e % half] >> (e % span / half * 4) & 15;
}

// The 6-bit scale and minimum of part g (of 8) of Q4_K and Q5_K, from 12 bytes: those of the first four parts stand in
// the low six bits of bytes 0 - 3 and 4 - 7, whose top bits belong to the others; their low four bits are bytes 8 - 11.
struct PartFactors {
  int scale, minimum;
};
PartFactors part_factors(Block bytes, int g) {
  if (g < 4) return {bytes[g] & 63, bytes[g + 4] & 63};
  return {(bytes[g + 4] & 15) | bytes[g - 4] >> 6 << 4, bytes[g + 4] >> 4 | bytes[g] >> 6 << 4};
}

// The 6-bit scale of part s (of 16) of Q3_K, less 32: low four bits in bytes 0 - 7, two more in bytes 8 - 11.
int q3_scale(Block bytes, int s) {
  const int low = bytes[s % 8] >> (s / 8 * 4) & 15, high = bytes[8 + s % 4] >> (s / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

}  // namespace

// 16 bytes of scale (low) and minimum (high), 64 bytes of pairs, d, dmin.
void decode_q2_k(Block in, float* out) {
  const float d = read_f16(in + 80), dmin = read_f16(in + 82);
  for (int e = 0; e < kElements; ++e) {
    const std::uint8_t factors = in[e / 16];
    const float scale = d * static_cast<float>(factors & 15), minimum = dmin * static_cast<float>(factors >> 4);
    out[e] = scale * static_cast<float>(pair_of(in + 16, e)) - minimum;
  }
}

// 32 bytes of third bits, 64 bytes of pairs, 12 bytes of scales, d. A third bit that is clear takes 4 off.
void decode_q3_k(Block in, float* out) {
  const float d = read_f16(in + 108);
  for (int e = 0; e < kElements; ++e) {
    const float scale = d * static_cast<float>(q3_scale(in + 96, e / 16));
    out[e] = scale * static_cast<float>(pair_of(in + 32, e) - (bit_of(in, e) != 0 ? 0 : 4));
  }
}

// d, dmin, 12 bytes of scales and minima, 128 bytes of nibbles.
void decode_q4_k(Block in, float* out) {
  const float d = read_f16(in), dmin = read_f16(in + 2);
  for (int e = 0; e < kElements; ++e) {
    const PartFactors part = part_factors(in + 4, e / 32);
    const float scale = d * static_cast<float>(part.scale), minimum = dmin * static_cast<float>(part.minimum);
    out[e] = scale * static_cast<float>(nibble_of(in + 16, e, 64)) - minimum;
  }
}

// As Q4_K, with 32 bytes of fifth bits before the nibbles.
void decode_q5_k(Block in, float* out) {
  const float d = read_f16(in), dmin = read_f16(in + 2);
  for (int e = 0; e < kElements; ++e) {
    const PartFactors part = part_factors(in + 4, e / 32);
    const float scale = d * static_cast<float>(part.scale), minimum = dmin * static_cast<float>(part.minimum);
    const int code = nibble_of(in + 48, e, 64) | bit_of(in + 16, e) << 4;
    out[e] = scale * static_cast<float>(code) - minimum;
  }
}

// 128 bytes of nibbles, 64 bytes of pairs above them, 16 signed scales, d.
void decode_q6_k(Block in, float* out) {
  const float d = read_f16(in + 208);
  for (int e = 0; e < kElements; ++e) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(in[192 + e / 16]));
    const int code = (nibble_of(in, e, 128) | pair_of(in + 128, e) << 4) - 32;
    out[e] = scale * static_cast<float>(code);
  }
}

}  // namespace tessera
