// The header of a safetensors file: 8 bytes of length N (little endian), N bytes of JSON, then the data.
// Stricter than the reference where the format is: a key twice (a tensor, a field of one, a metadata key) is refused,
// and so are unknown fields. Limits: 10^6 tensors, names of 4096 bytes, 16 dimensions. Laws: any bytes give a header or
// an Error(kCorrupt) in time n log n; memory is a small multiple of N. Source: safetensors format description and its
// reference reader; spec 3.1-3.4; docs/formats/safetensors.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/io/container.h"

namespace tessera {

struct SafetensorsHeader {
  std::uint64_t data_begin = 0;       // bytes from the beginning of the file: 8 + N
  std::vector<StoredTensor> tensors;  // sorted by name; offsets count from the beginning of the file
  std::map<std::string, std::string> metadata;
};

inline constexpr std::uint64_t kLargestSafetensorsHeader = 100'000'000;  // bytes; the reference's limit

// N. `first`: the first 8 bytes of the file, or all of a shorter one.
std::uint64_t read_header_length(std::span<const std::byte> first, std::uint64_t file_bytes);

// `json`: the N bytes; `file_bytes`: of the whole file. Messages name the tensor, not the file.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_bytes);

// Both, from a file. Messages begin with the file's path. Also throws kResource.
SafetensorsHeader read_safetensors_header(const File& file);

// Bytes of a tensor. Throws kCorrupt: more than 2^64 - 1 bits, no whole bytes, or rows of F4 that end inside a byte.
std::uint64_t stored_bytes(DType dtype, std::span<const std::int64_t> shape);

}  // namespace tessera
