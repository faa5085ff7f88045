// What the GPU tests share: a device or a skip, matrices of difficult numbers, and comparisons byte by byte.
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tessera/kernels/quantize.h"

namespace tessera::test {

// Skips its tests, with a line, where there is no device.
class Gpu : public ::testing::Test {
 protected:
  void SetUp() override;
  Stream& cpu() { return *cpu_; }  // the reference, one thread
  Stream& gpu() { return *gpu_; }

 private:
  std::optional<Stream> cpu_, gpu_;
};

enum class Numbers {
  kGauss,     // as weights
  kBits,      // any bit pattern: infinities, NaN, subnormals
  kFinite,    // any finite bit pattern
  kWide,      // signs and powers of two over the whole range, a few bits of mantissa
  kTies,      // multiples of 1/8 and of 1/4 around the codes, and both zeros
  kSpecials,  // as weights, with zeros, smallest, largest and infinite numbers among them
  kZeros,     // both
};
inline constexpr Numbers kAllNumbers[] = {Numbers::kGauss, Numbers::kBits,     Numbers::kFinite, Numbers::kWide,
                                          Numbers::kTies,  Numbers::kSpecials, Numbers::kZeros};
inline constexpr DType kSources[] = {DType::kF32, DType::kBf16, DType::kF16};

Tensor numbers(Numbers kind, DType dtype, Extent extent, std::uint64_t seed);
Tensor random_bytes(DType dtype, Shape shape, std::uint64_t seed);

// The formats of the registry that have scales, and block FP8 of sizes that no file names.
std::vector<Format> scaled_formats();

// Empty where both are equal in every byte, else the first difference.
std::string difference(const Tensor& expected, const Tensor& found, const char* part);
std::string difference(Stream& gpu, const QuantizedTensor& expected, const QuantizedTensor& found);

// What a call gave: a tensor, or the words of its error.
struct Outcome {
  QuantizedTensor tensor{};
  std::string error{};
};
template <class F>
Outcome outcome_of(F call);
std::string difference(Stream& gpu, const Outcome& expected, const Outcome& found);

template <class F>
Outcome outcome_of(F call) {
  try {
    return {.tensor = call()};
  } catch (const std::exception& error) {
    return {.error = error.what()};
  }
}

// Counts cases, and prints the first few that differ.
class Tally final {
 public:
  explicit Tally(const char* what) : what_(what) {}
  ~Tally();
  void add(const std::string& difference, const std::string& name);

 private:
  const char* what_;
  int cases_ = 0, wrong_ = 0;
};

}  // namespace tessera::test
