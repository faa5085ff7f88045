// What benchmarks of kernels share: a clock, a percentile, a plain reading of memory.
#pragma once
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::bench {

// One thread is measured by its own clock, so that a busy neighbour takes less away.
inline double seconds_of(int threads, const std::function<void()>& work) {
  const auto now = [&] {
    timespec t{};
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

inline double tenth_percentile(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 10];
}

// Memory as its widest plain loop reads it; what it returns keeps the loop. Not called where there is no AVX-512.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline std::uint64_t read_avx512(const std::byte* from, std::int64_t bytes) {
  __m512i sum[4] = {};
  for (std::int64_t i = 0; i + 256 <= bytes; i += 256)
    for (int k = 0; k < 4; ++k) sum[k] = _mm512_xor_si512(sum[k], _mm512_loadu_si512(from + i + 64 * k));
  alignas(64) std::uint64_t words[8];
  _mm512_store_si512(words, _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3])));
  return words[0] ^ words[3] ^ words[6];
}
#else
inline std::uint64_t read_avx512(const std::byte*, std::int64_t) { return 0; }
#endif

}  // namespace tessera::bench
