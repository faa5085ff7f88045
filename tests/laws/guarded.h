// What the laws of kernels share: outputs between sentinels, comparison of bytes, streams of every number of threads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::test {

inline constexpr std::size_t kMargin = 192;
inline constexpr std::byte kSentinel{0xa5}, kGarbage{0x7f};  // 0x7f7f... is a NaN of E4M3 and garbage everywhere

// A tensor between sentinels, filled with garbage.
class Guarded {
 public:
  Guarded(DType dtype, Shape shape, std::size_t shift = 0)
      : shift_(shift),
        buffer_(tensor_bytes(dtype, shape) + 2 * kMargin + shift, kCpu),
        tensor_(dtype, shape, buffer_, kMargin + shift) {
    std::memset(buffer_.data(), static_cast<int>(kSentinel), buffer_.bytes());
    std::memset(tensor_.data(), static_cast<int>(kGarbage), tensor_.bytes());
  }
  Tensor& tensor() { return tensor_; }
  bool is_intact() const {
    const std::byte* begin = buffer_.data();
    const std::byte* end = begin + buffer_.bytes();
    const auto clean = [](std::byte b) { return b == kSentinel; };
    return std::all_of(begin, begin + kMargin + shift_, clean) && std::all_of(end - kMargin, end, clean);
  }

 private:
  std::size_t shift_;
  Buffer buffer_;
  Tensor tensor_;
};

inline std::vector<std::byte> bytes_of(const Tensor& t) { return {t.data(), t.data() + t.bytes()}; }

inline std::int64_t first_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return at.first == a.end() && at.second == b.end() ? -1 : at.first - a.begin();
}

// A stream per number of threads, 1 to 8.
inline Stream& stream_of(int threads) {
  static std::map<int, Stream> streams;
  return streams.try_emplace(threads, kCpu, threads).first->second;
}
}  // namespace tessera::test
