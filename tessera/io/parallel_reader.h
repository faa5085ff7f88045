// Reads many tensors at the disk's speed: several threads, large aligned requests, past the page cache where the file
// is not in it already. Memory: one buffer of `request_bytes` for each thread. Source: spec/performance.md, (h);
// docs/design/loading.md has the measurements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tessera/io/container.h"

namespace tessera {

enum class ReadCache : std::uint8_t {
  kAuto,      // each request through the page cache when nearly all of its pages are there, past it when not
  kDirect,    // past it where the file system allows
  kBuffered,  // through it
};

struct ReadOptions {
  int threads = 8;                         // requests at once
  std::uint64_t request_bytes = 8u << 20;  // of one request; rounded up to File::kAlignment
  ReadCache cache = ReadCache::kAuto;
};

// Bytes of a tensor that are wanted: [begin, begin + bytes) from its start.
struct TensorRange {
  const StoredTensor* tensor = nullptr;
  std::uint64_t begin = 0, bytes = 0;
};
inline TensorRange whole(const StoredTensor& tensor) { return {&tensor, 0, tensor.bytes}; }

// A piece of range `index` has arrived, `begin` bytes from the range's start. Called from several threads at once, each
// byte once; the bytes are gone when the call returns.
using Arrival = std::function<void(std::size_t index, std::uint64_t begin, std::span<const std::byte> bytes)>;

// Reads all ranges, in the files' order, and returns when every piece has been delivered. The first exception, of
// reading or of `arrive`, stops the others and is rethrown. Throws kInvalid for a range beyond its tensor, kResource.
void read_parallel(const Container& container, std::span<const TensorRange> ranges, const Arrival& arrive,
                   const ReadOptions& options = {});

// The same into buffers; into[i] has ranges[i].bytes.
void read_parallel_into(const Container& container, std::span<const TensorRange> ranges,
                        std::span<const std::span<std::byte>> into, const ReadOptions& options = {});

}  // namespace tessera
