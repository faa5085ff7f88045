// The lane type with which the one-pass kernels run the writers' rules: a float whose E4M3 conversions are the chip's
// own (sm_89 and later). The same bits as F = float, in a fifth of the instructions.
#pragma once
#include "tessera/numeric/lanes.h"

namespace tessera {

namespace cuda {
struct GpuLane {
  float v;
};
}  // namespace cuda

template <>
struct LaneTraits<cuda::GpuLane> {
  using Word = std::uint32_t;
  using Int = std::int32_t;
  static constexpr int kCount = 1;
};

template <>
constexpr cuda::GpuLane all<cuda::GpuLane>(float x) {
  return {x};
}

#define TESSERA_GPU inline __host__ __device__

// `a` is a magnitude and not NaN.
template <>
TESSERA_GPU std::uint32_t encode_magnitude<cuda::GpuLane>(Element element, cuda::GpuLane a) {
#ifdef __CUDA_ARCH__
  if (element == kE4M3) {
    std::uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.f), "f"(a.v));
    return pair;
  }
#endif
  return encode_magnitude<float>(element, a.v);
}

template <>
TESSERA_GPU cuda::GpuLane decode_magnitude<cuda::GpuLane>(Element element, std::uint32_t code) {
#ifdef __CUDA_ARCH__
  if (element == kE4M3) {
    float value;
    asm("{ .reg .b32 p; .reg .b16 l, h; cvt.rn.f16x2.e4m3x2 p, %1; mov.b32 {l, h}, p; cvt.f32.f16 %0, l; }"
        : "=f"(value)
        : "h"(static_cast<std::uint16_t>(code & 0x7fu)));
    return {value};
  }
#endif
  return {decode_magnitude<float>(element, code)};
}

#undef TESSERA_GPU

namespace cuda {

constexpr GpuLane operator+(GpuLane a, GpuLane b) { return {a.v + b.v}; }
constexpr GpuLane operator-(GpuLane a, GpuLane b) { return {a.v - b.v}; }
constexpr GpuLane operator*(GpuLane a, GpuLane b) { return {a.v * b.v}; }
constexpr GpuLane operator/(GpuLane a, GpuLane b) { return {a.v / b.v}; }
constexpr GpuLane operator+(GpuLane a, float b) { return {a.v + b}; }
constexpr GpuLane operator-(GpuLane a, float b) { return {a.v - b}; }
constexpr bool operator<(GpuLane a, GpuLane b) { return a.v < b.v; }
constexpr bool operator>(GpuLane a, GpuLane b) { return a.v > b.v; }
constexpr bool operator<=(GpuLane a, GpuLane b) { return a.v <= b.v; }
constexpr bool operator>=(GpuLane a, GpuLane b) { return a.v >= b.v; }
constexpr bool operator==(GpuLane a, GpuLane b) { return a.v == b.v; }

}  // namespace cuda
}  // namespace tessera
