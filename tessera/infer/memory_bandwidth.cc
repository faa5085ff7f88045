#include "tessera/infer/memory_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tessera/tensor/buffer.h"

namespace tessera {

double measure_read_bandwidth(Stream& stream, std::size_t bytes, int rounds) {
  const std::size_t words = bytes / sizeof(std::uint64_t);
  const Buffer memory(words * sizeof(std::uint64_t), kCpu);
  auto* data = reinterpret_cast<std::uint64_t*>(memory.data());
  parallel_for(stream.pool(), static_cast<std::int64_t>(words), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) data[i] = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;
  });
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(stream.pool().size()) * 16);
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(stream.pool(), static_cast<std::int64_t>(words),
                 [&](std::int64_t begin, std::int64_t end, int worker) {
                   std::uint64_t lanes[16] = {};  // sums that do not wait for each other
                   for (std::int64_t i = begin; i + 16 <= end; i += 16)
                     for (int j = 0; j < 16; ++j) lanes[j] += data[i + j];
                   std::uint64_t sum = 0;
                   for (const std::uint64_t lane : lanes) sum += lane;
                   sums[static_cast<std::size_t>(worker) * 16] += sum;  // kept, so that the loop is
                 });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, static_cast<double>(words * sizeof(std::uint64_t)) / seconds);
  }
  volatile std::uint64_t kept = 0;
  for (const std::uint64_t sum : sums) kept = kept + sum;
  return best;
}

}  // namespace tessera
