// The header of a GGUF file, version 2 or 3, little endian: keys with values, then the tensors' names, types and
// places. Checked as ggml's own reader checks, so a tensor stands right after the one before it, padded to the
// alignment. Limits: 256 MiB of header, 2^23 array elements, names of 4096 bytes, 4 dimensions, arrays 4 deep. Law: any
// bytes give a header or an Error; memory is bounded by the bytes of the header read so far (40 bytes an element).
// Source: GGUF specification and ggml's reader; spec 1.16; docs/formats/gguf.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/io/container.h"

namespace tessera {

struct GgufHeader {
  std::uint32_t version = 0;
  Json metadata =
      JsonObject();  // key -> value, in the file's order; strings are the file's bytes (tokens may be no UTF-8)
  std::uint64_t alignment = 32;
  std::uint64_t data_begin = 0;       // bytes from the beginning of the file
  std::vector<StoredTensor> tensors;  // sorted by name; offsets count from the beginning of the file
};

// Fills `into` with the file's bytes from `begin`; never asked beyond the file's end.
using ReadAt = std::function<void(std::uint64_t begin, std::span<std::byte> into)>;

// Throws kCorrupt; kUnsupported for version 1 and big-endian files. Messages name the key or tensor, not the file.
GgufHeader parse_gguf_header(const ReadAt& read, std::uint64_t file_bytes);

// The same from a file. Messages begin with the file's path. Also throws kResource.
GgufHeader read_gguf_header(const File& file);

}  // namespace tessera
