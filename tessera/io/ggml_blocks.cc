#include "tessera/io/ggml_blocks.h"

#include <bit>
#include <cstring>
#include <string>

#include "tessera/base/error.h"
#include "tessera/io/ggml_k_quants.h"
#include "tessera/numeric/element.h"

namespace tessera {
namespace {

using Block = const std::uint8_t*;

// The type numbers of ggml_type.h that are decoded here; kQ40 is Q4_0.
enum Number : int {
  kF32 = 0,
  kF16 = 1,
  kQ40 = 2,
  kQ41 = 3,
  kQ50 = 6,
  kQ51 = 7,
  kQ80 = 8,
  kQ2K = 10,
  kQ3K = 11,
  kQ4K = 12,
  kQ5K = 13,
  kQ6K = 14,
  kBf16 = 30,
  kMxfp4 = 39,
  kNvfp4 = 40
};

// Twice the values of E2M1, as ggml has them; its scales are halved. Code 8 is a plain 0.
constexpr float kTwiceE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

std::uint16_t read_u16(Block at) { return static_cast<std::uint16_t>(at[0] | at[1] << 8); }
std::uint32_t read_u32(Block at) { return read_u16(at) | static_cast<std::uint32_t>(read_u16(at + 2)) << 16; }
float read_f16(Block at) { return decode(kE5M10, read_u16(at)); }

int low(std::uint8_t byte) { return byte & 0x0F; }
int high(std::uint8_t byte) { return byte >> 4; }

void decode_f32(Block in, float* out) { *out = std::bit_cast<float>(read_u32(in)); }
void decode_f16(Block in, float* out) { *out = read_f16(in); }
void decode_bf16(Block in, float* out) { *out = std::bit_cast<float>(static_cast<std::uint32_t>(read_u16(in)) << 16); }

// d, 16 bytes of nibbles: element j is the low one of byte j, j + 16 the high one.
void decode_q4_0(Block in, float* out) {
  const float d = read_f16(in);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(low(in[2 + j]) - 8) * d;
    out[j + 16] = static_cast<float>(high(in[2 + j]) - 8) * d;
  }
}
void decode_q4_1(Block in, float* out) {
  const float d = read_f16(in), m = read_f16(in + 2);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(low(in[4 + j])) * d + m;
    out[j + 16] = static_cast<float>(high(in[4 + j])) * d + m;
  }
}
// Between scales and nibbles stand 32 bits: element j's fifth bit is bit j.
int fifth(std::uint32_t bits, int j) { return static_cast<int>(bits >> j & 1) << 4; }
void decode_q5_0(Block in, float* out) {
  const float d = read_f16(in);
  const std::uint32_t bits = read_u32(in + 2);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>((low(in[6 + j]) | fifth(bits, j)) - 16) * d;
    out[j + 16] = static_cast<float>((high(in[6 + j]) | fifth(bits, j + 16)) - 16) * d;
  }
}
void decode_q5_1(Block in, float* out) {
  const float d = read_f16(in), m = read_f16(in + 2);
  const std::uint32_t bits = read_u32(in + 4);
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(low(in[8 + j]) | fifth(bits, j)) * d + m;
    out[j + 16] = static_cast<float>(high(in[8 + j]) | fifth(bits, j + 16)) * d + m;
  }
}
void decode_q8_0(Block in, float* out) {
  const float d = read_f16(in);
  for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<std::int8_t>(in[2 + j])) * d;
}

// 2^(e - 128) for every byte: 0xFF is no NaN here.
void decode_mxfp4(Block in, float* out) {
  const float half_scale = pow2(in[0] - 128);
  for (int j = 0; j < 16; ++j) {
    out[j] = kTwiceE2M1[low(in[1 + j])] * half_scale;
    out[j + 16] = kTwiceE2M1[high(in[1 + j])] * half_scale;
  }
}

// E4M3 without a sign and without a NaN; 0x7F is 0, and 0xFF, whose bit 7 does not count, is 480.
float half_of_nvfp4_scale(std::uint8_t byte) {
  if (byte == 0x7F) return 0;
  const int exponent = byte >> 3 & 0x0F, mantissa = byte & 7;
  if (exponent == 0) return static_cast<float>(mantissa) * pow2(-10);
  return static_cast<float>(8 + mantissa) * pow2(exponent - 11);
}
void decode_nvfp4(Block in, float* out) {
  for (int s = 0; s < 4; ++s) {
    const float half_scale = half_of_nvfp4_scale(in[s]);
    for (int j = 0; j < 8; ++j) {
      const std::uint8_t pair = in[4 + 8 * s + j];
      out[16 * s + j] = kTwiceE2M1[low(pair)] * half_scale;
      out[16 * s + 8 + j] = kTwiceE2M1[high(pair)] * half_scale;
    }
  }
}

// One loop for each type, so that the compiler sees its block.
template <auto decode_block>
void decode_all(Block in, float* out, std::size_t count, const GgmlType& type) {
  for (std::size_t i = 0; i < count; ++i, in += type.block_bytes, out += type.block) decode_block(in, out);
}

using DecodeAll = void (*)(Block, float*, std::size_t, const GgmlType&);
DecodeAll decoder_of(const GgmlType& type) {
  switch (type.number) {
    case kF32:
      return decode_all<decode_f32>;
    case kF16:
      return decode_all<decode_f16>;
    case kBf16:
      return decode_all<decode_bf16>;
    case kQ40:
      return decode_all<decode_q4_0>;
    case kQ41:
      return decode_all<decode_q4_1>;
    case kQ50:
      return decode_all<decode_q5_0>;
    case kQ51:
      return decode_all<decode_q5_1>;
    case kQ80:
      return decode_all<decode_q8_0>;
    case kQ2K:
      return decode_all<decode_q2_k>;
    case kQ3K:
      return decode_all<decode_q3_k>;
    case kQ4K:
      return decode_all<decode_q4_k>;
    case kQ5K:
      return decode_all<decode_q5_k>;
    case kQ6K:
      return decode_all<decode_q6_k>;
    case kMxfp4:
      return decode_all<decode_mxfp4>;
    case kNvfp4:
      return decode_all<decode_nvfp4>;
    default:
      return nullptr;
  }
}

std::string decoded_types() {
  std::string names;
  for (const GgmlType& type : kGgmlTypes)
    if (decoder_of(type) != nullptr) names.append(names.empty() ? "" : ", ").append(type.name);
  return names;
}

// The number of blocks; throws when `bytes` are not blocks of `elements` elements in all.
std::size_t check_sizes(const GgmlType& type, std::size_t bytes, std::size_t elements) {
  const auto block_bytes = static_cast<std::size_t>(type.block_bytes), block = static_cast<std::size_t>(type.block);
  const std::size_t blocks = bytes / block_bytes;
  require(bytes % block_bytes == 0 && elements == blocks * block, Errc::kShape,
          "{} bytes of {} blocks ({} bytes for {} elements) do not make {} elements", bytes, type.name, block_bytes,
          block, elements);
  return blocks;
}

// `half` bytes whose low nibbles are the first `half` elements and high nibbles the next; to low nibble first.
void interleave(Block in, int half, std::uint8_t* out) {
  for (int j = 0; j < half; j += 2) {
    out[j / 2] = static_cast<std::uint8_t>(low(in[j]) | low(in[j + 1]) << 4);
    out[(half + j) / 2] = static_cast<std::uint8_t>(high(in[j]) | (in[j + 1] & 0xF0));
  }
}

std::int64_t split_mxfp4(Block in, std::size_t blocks, std::uint8_t* codes, std::uint8_t* scales) {
  for (std::size_t b = 0; b < blocks; ++b, in += 17) {
    require(in[0] != 0xFF, Errc::kCorrupt, "MXFP4 block {} has the scale byte 0xFF, which is no E8M0 number", b);
    scales[b] = in[0];
    interleave(in + 1, 16, codes + 16 * b);
  }
  return 0;
}

std::int64_t split_nvfp4(Block in, std::size_t blocks, std::uint8_t* codes, std::uint8_t* scales) {
  std::int64_t replaced = 0;
  for (std::size_t b = 0; b < blocks; ++b, in += 36)
    for (std::size_t s = 0; s < 4; ++s) {
      const std::uint8_t stored = in[s];
      require(stored != 0xFF, Errc::kCorrupt, "NVFP4 block {} has the scale byte 0xFF, which is 480 and no E4M3 number",
              b);
      const std::uint8_t scale = stored == 0x7F ? 0 : stored & 0x7F;
      replaced += scale != stored;
      scales[4 * b + s] = scale;
      interleave(in + 4 + 8 * s, 8, codes + 32 * b + 8 * s);
    }
  return replaced;
}

Block raw(std::span<const std::byte> bytes) { return reinterpret_cast<Block>(bytes.data()); }
std::uint8_t* raw(std::span<std::byte> bytes) { return reinterpret_cast<std::uint8_t*>(bytes.data()); }

}  // namespace

bool can_dequantize(const GgmlType& type) { return decoder_of(type) != nullptr; }

void dequantize_ggml(const GgmlType& type, std::span<const std::byte> blocks, std::span<float> out) {
  const DecodeAll decode_blocks = decoder_of(type);
  if (decode_blocks == nullptr)
    fail(Errc::kUnsupported, "tensors of ggml's type {} can be listed and not decoded: convert the file to one of {}",
         type.name, decoded_types());
  decode_blocks(raw(blocks), out.data(), check_sizes(type, blocks.size(), out.size()), type);
}

std::int64_t split_ggml(const GgmlType& type, std::span<const std::byte> blocks, const SplitBlocks& into) {
  require(type.number == kMxfp4 || type.number == kNvfp4, Errc::kUnsupported,
          "ggml's type {} has no codes and scales to take apart; MXFP4 and NVFP4 have", type.name);
  const std::size_t count = check_sizes(type, blocks.size(), 2 * into.codes.size());
  const std::size_t scales = count * (type.number == kMxfp4 ? 1 : 4);
  require(into.scales.size() == scales, Errc::kShape, "{} scales do not fit into {} bytes", scales, into.scales.size());
  return type.number == kMxfp4 ? split_mxfp4(raw(blocks), count, raw(into.codes), raw(into.scales))
                               : split_nvfp4(raw(blocks), count, raw(into.codes), raw(into.scales));
}

}  // namespace tessera
