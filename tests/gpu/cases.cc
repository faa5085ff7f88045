#include "tests/gpu/cases.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/numeric/philox.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera::test {
namespace {

std::uint32_t word(std::uint64_t seed, std::int64_t i) {
  return random_word({.seed = seed, .stream = 0x67707574657374u}, static_cast<std::uint64_t>(i));
}
float uniform(std::uint32_t w) { return static_cast<float>(w >> 8) * 0x1p-24f; }

// Near enough to a bell: what matters is that no two neighbours are alike.
float gauss(std::uint32_t w) {
  const float sum = static_cast<float>(w & 255) + static_cast<float>(w >> 8 & 255) + static_cast<float>(w >> 16 & 255) +
                    static_cast<float>(w >> 24) - 510.f;
  return sum * (0.02f / 148.f) + uniform(w * 2654435761u) * 1e-4f;
}

float wide(std::uint32_t w) {
  const int exponent = static_cast<int>(w % 270) - 145;
  const float mantissa = 1.f + static_cast<float>(w >> 9 & 7) / 8.f;
  return std::ldexp((w >> 31) != 0 ? -mantissa : mantissa, exponent);
}

float tie(std::uint32_t w) {
  if (w % 11 == 0) return (w >> 31) != 0 ? -0.f : 0.f;
  const float eighths = static_cast<float>(w % 49) / 8.f, quarters = static_cast<float>(w % 1793) / 4.f;
  const float a = (w >> 20 & 3) == 0 ? quarters : eighths;
  return (w >> 31) != 0 ? -a : a;
}

float special(std::uint32_t w) {
  constexpr float kList[] = {0.f,     -0.f,     0x1p-149f, -0x1p-149f, 0x1p-133f, 0x1p-126f,
                             3.0e38f, -3.0e38f, 65504.f,   1e-4f,      kInfinity};
  if (w % 5 != 0) return gauss(w * 40503u);
  const std::uint32_t pick = w / 5 % 64;  // infinity is rare, or it would be every block's maximum
  return pick < 10 ? kList[pick] : pick == 10 && w / 320 % 8 == 0 ? kList[10] : gauss(w);
}

float number(Numbers kind, std::uint32_t w) {
  switch (kind) {
    case Numbers::kWide:
      return wide(w);
    case Numbers::kTies:
      return tie(w);
    case Numbers::kSpecials:
      return special(w);
    case Numbers::kZeros:
      return (w & 1) != 0 ? -0.f : 0.f;
    default:
      return gauss(w);
  }
}

// The bits of x in the dtype, by rounding; those of a random word where the kind asks for bits.
std::uint32_t bits_of(Numbers kind, DType dtype, std::uint32_t w) {
  const bool any = kind == Numbers::kBits || kind == Numbers::kFinite;
  if (dtype == DType::kF32) {
    if (!any) return std::bit_cast<std::uint32_t>(number(kind, w));
    return kind == Numbers::kFinite && !is_finite(std::bit_cast<float>(w)) ? w & 0x3fffffffu : w;
  }
  if (!any) return bits16(dtype, round_to(dtype, number(kind, w)));
  const std::uint32_t top = dtype == DType::kBf16 ? 0x7f80u : 0x7c00u, half = w & 0xffffu;
  return kind == Numbers::kFinite && (half & top) == top ? half & 0x3fffu : half;
}

}  // namespace

void Gpu::SetUp() {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no device: " << cuda::availability();
  cpu_.emplace(kCpu, 1);
  cpu_->set_cpu_tier(CpuTier::kReference);
  gpu_.emplace(Device{Device::Kind::kCuda, 0}, 1);
}

Tensor numbers(Numbers kind, DType dtype, Extent extent, std::uint64_t seed) {
  Tensor t(dtype, {extent.rows, extent.cols});
  for (std::int64_t i = 0; i < extent.count(); ++i) {
    const std::uint32_t bits = bits_of(kind, dtype, word(seed, i));
    if (dtype == DType::kF32)
      t.as<std::uint32_t>()[i] = bits;
    else
      t.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits);
  }
  return t;
}

Tensor random_bytes(DType dtype, Shape shape, std::uint64_t seed) {
  Tensor t(dtype, std::move(shape));
  for (std::size_t i = 0; i < t.bytes(); ++i)
    t.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(word(seed, static_cast<std::int64_t>(i)));
  return t;
}

std::vector<Format> scaled_formats() {
  std::vector<Format> formats;
  for (const Format* format : all_formats())
    if (format->is_scaled()) formats.push_back(*format);
  formats.push_back(block_fp8({.cols = 32, .rows = 32}));
  formats.push_back(block_fp8({.cols = 32, .rows = 16}, kE4M3, kE8M0));
  formats.push_back(block_fp8({.cols = 5, .rows = 3}, kE5M2));
  formats.push_back(block_fp8({.cols = 512, .rows = 1}));
  formats.push_back(block_fp8({.cols = 1024, .rows = 1}));
  return formats;
}

std::string difference(const Tensor& expected, const Tensor& found, const char* part) {
  if (expected.dtype() != found.dtype() || expected.shape() != found.shape())
    return fmt::format("{}: {} {} wanted, {} {} found", part, dtype_name(expected.dtype()),
                       shape_text(expected.shape()), dtype_name(found.dtype()), shape_text(found.shape()));
  const int width = dtype_bits(expected.dtype()) / 8;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = expected.bytes(); i-- > 0;) {
    if (expected.data()[i] == found.data()[i]) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return {};
  const std::size_t at = first / static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
  std::uint32_t a = 0, b = 0;
  for (int k = width; k-- > 0;) {
    a = a << 8 | static_cast<std::uint32_t>(expected.data()[at + static_cast<std::size_t>(k)]);
    b = b << 8 | static_cast<std::uint32_t>(found.data()[at + static_cast<std::size_t>(k)]);
  }
  return fmt::format("{}[{}]: {:#x} wanted, {:#x} found, {} bytes of {} differ", part,
                     at / static_cast<std::size_t>(width), a, b, wrong, expected.bytes());
}

std::string difference(Stream& gpu, const QuantizedTensor& expected, const QuantizedTensor& found) {
  const QuantizedTensor host = copy(gpu, found, kCpu);
  std::string text;
  for (const std::string& part :
       {difference(expected.scales, host.scales, "scales"), difference(expected.codes, host.codes, "codes"),
        difference(expected.global, host.global, "global")})
    if (!part.empty()) text += part + "; ";
  if (expected.sense != found.sense) text += "another sense";
  return text;
}

std::string difference(Stream& gpu, const Outcome& expected, const Outcome& found) {
  if (expected.error != found.error) return fmt::format("error '{}' wanted, '{}' found", expected.error, found.error);
  return expected.error.empty() ? difference(gpu, expected.tensor, found.tensor) : std::string();
}

Tally::~Tally() {
  EXPECT_GT(cases_, 0) << what_;
  EXPECT_EQ(wrong_, 0) << what_ << ": of " << cases_ << " cases";
  fmt::print("{}: {} cases, {} differ\n", what_, cases_, wrong_);
}

void Tally::add(const std::string& text, const std::string& name) {
  ++cases_;
  if (text.empty()) return;
  if (++wrong_ <= 12) ADD_FAILURE() << name << ": " << text;
}

}  // namespace tessera::test
