// DType: how a container stores one value. What a small float means is an Element; what a dtype has more is its name on
// disk and types that are not floats at all.
// Source: safetensors format description, dtype list; docs/formats/safetensors.md.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class DType : std::uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

struct DTypeFacts {
  std::string_view name;  // as safetensors writes it
  int bits;
};

// In the order in which the reference writer lays tensors out, narrowest first.
inline constexpr std::array<DTypeFacts, 22> kDTypes{{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

constexpr std::string_view dtype_name(DType t) { return kDTypes[static_cast<std::size_t>(t)].name; }
constexpr int dtype_bits(DType t) { return kDTypes[static_cast<std::size_t>(t)].bits; }
constexpr std::optional<DType> find_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace tessera
