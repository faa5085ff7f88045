#include "tests/support/random_matrix.h"

#include <cstring>

#include "tessera/numeric/lanes.h"
#include "tessera/numeric/philox.h"

namespace tessera::test {
namespace {

void store(const Tensor& t, std::int64_t i, float value) {
  const float rounded = round_to(t.dtype(), value);
  if (t.dtype() == DType::kF32)
    t.as<float>()[i] = rounded;
  else
    t.as<std::uint16_t>()[i] = bits16(t.dtype(), rounded);
}

// A sum of twelve uniforms: mean 0, variance 1.
float near_gaussian(const RandomKey& key, std::uint64_t index) {
  float sum = -6;
  for (std::uint64_t k = 0; k < 12; ++k) sum += static_cast<float>(random_word(key, index * 12 + k)) * 0x1p-32f;
  return sum;
}

}  // namespace

Tensor random_matrix(DType dtype, Extent extent, std::uint64_t seed) {
  Tensor x(dtype, {extent.rows, extent.cols});
  const RandomKey key{seed, 7};
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t r = i / extent.cols, c = i % extent.cols;
    const auto index = static_cast<std::uint64_t>(i);
    float value = near_gaussian(key, index) *
                  pow2(static_cast<int>(random_word({seed, 8}, static_cast<std::uint64_t>(c / 8)) % 8) - 6);
    if (r == 3 || (r == 5 && c < 32)) value = 0;
    if (r == 5 && c == 1) value = -0.f;
    if (r == 6 && c % 7 == 0) value = 0x1p-140f;
    if (r == 7)
      value = static_cast<float>(static_cast<int>(random_word(key, index) % 25) - 12) * 0.25f;  // ties of E2M1
    if (i == x.count() / 2) value = 9.75f;
    store(x, i, value);
  }
  return x;
}

Tensor piece_of(const Tensor& x, std::int64_t row, std::int64_t col, Extent piece) {
  Tensor part(x.dtype(), {piece.rows, piece.cols});
  const auto width = static_cast<std::size_t>(dtype_bits(x.dtype()) / 8);
  const auto run = static_cast<std::size_t>(piece.cols) * width;
  for (std::int64_t r = 0; r < piece.rows; ++r)
    std::memcpy(part.data() + static_cast<std::size_t>(r) * run,
                x.data() + static_cast<std::size_t>((row + r) * x.extent().cols + col) * width, run);
  return part;
}

Tensor transpose(const Tensor& x) {
  const Extent e = x.extent();
  Tensor t(x.dtype(), {e.cols, e.rows});
  const auto width = static_cast<std::size_t>(dtype_bits(x.dtype()) / 8);
  for (std::int64_t r = 0; r < e.rows; ++r)
    for (std::int64_t c = 0; c < e.cols; ++c)
      std::memcpy(t.data() + static_cast<std::size_t>(c * e.rows + r) * width,
                  x.data() + static_cast<std::size_t>(r * e.cols + c) * width, width);
  return t;
}

}  // namespace tessera::test
