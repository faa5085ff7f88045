#include "tessera/kernels/reference/attention.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tessera/kernels/reference/flushed.h"
#include "tessera/numeric/math.h"

namespace tessera::reference {
namespace {

constexpr std::int64_t kTile = KvPage::kTokens, kSegment = 512;

struct State {
  std::vector<float> o;
  float m = -kInfinity, l = 0;
};

using Block = tessera_lanes::AttentionBlock;

// A value of the head's keys (of `page`), or with `index` beyond them of its values.
float element(const Block& b, std::int64_t page, std::int64_t index) {
  const std::uint8_t* at = b.head + page * b.page_bytes;
  const auto type = static_cast<DType>(b.type);
  if (type == DType::kF32) return reinterpret_cast<const float*>(at)[index];
  if (type == DType::kBf16)
    return std::bit_cast<float>(std::uint32_t{reinterpret_cast<const std::uint16_t*>(at)[index]} << 16);
  return product(decode(kE4M3, at[index]), index < kTile * b.width ? b.key_scale : b.value_scale);
}

float sum_of(const std::array<float, kTile>& p) {
  std::array<float, 16> parts{};
  for (std::size_t i = 0; i < 16; ++i) parts[i] = sum(sum(p[i], p[i + 16]), sum(p[i + 32], p[i + 48]));
  for (std::size_t apart = 8; apart > 0; apart /= 2)
    for (std::size_t i = 0; i < apart; ++i) parts[i] = sum(parts[i], parts[i + apart]);
  return parts[0];
}

void add_tile(const Block& b, int query, std::int64_t begin, State& state) {
  const KvPage page{.heads = 1, .width = b.width};
  const std::int64_t at = b.pages[begin / kTile], count = std::min(kTile, b.lengths[query] - begin);
  const float* q = b.q[query];
  std::array<float, kTile> p{};
  float largest = state.m;
  for (std::int64_t i = 0; i < count; ++i) {
    float a = 0;
    for (std::int64_t d = 0; d < b.width; d += 2) {
      a = fused(element(b, at, page.key(0, i, d + 1)), q[d + 1], a);
      a = fused(element(b, at, page.key(0, i, d)), q[d], a);
    }
    p[static_cast<std::size_t>(i)] = product(a, b.scale);
    largest = std::max(largest, p[static_cast<std::size_t>(i)]);
  }
  const float c = flushed(math::exp2(sum(state.m, -largest)));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) p[i] = flushed(math::exp2(sum(p[i], -largest)));
  state.l = fused(state.l, c, sum_of(p));
  state.m = largest;
  if (static_cast<DType>(b.type) != DType::kF32)
    for (float& x : p) x = flushed(round_to(DType::kBf16, x));
  for (std::int64_t d = 0; d < b.width; ++d) {
    float& o = state.o[static_cast<std::size_t>(d)];
    o = product(o, c);
    for (std::int64_t i = 0; i < count; i += 2)
      for (const std::int64_t key : {i + 1, i})
        if (key < count) o = fused(element(b, at, page.value(0, key, d)), p[static_cast<std::size_t>(key)], o);
  }
}

void merge(State& total, const State& segment) {
  const float m = std::max(total.m, segment.m);
  const float ct = flushed(math::exp2(sum(total.m, -m))), cs = flushed(math::exp2(sum(segment.m, -m)));
  for (std::size_t d = 0; d < total.o.size(); ++d) total.o[d] = fused(total.o[d], ct, product(segment.o[d], cs));
  total.l = fused(total.l, ct, product(segment.l, cs));
  total.m = m;
}

}  // namespace

void attend(const Block& b) {
  const auto width = static_cast<std::size_t>(b.width);
  for (int query = 0; query < b.count; ++query) {
    State total{std::vector<float>(width)};
    for (std::int64_t begin = 0; begin < b.lengths[query]; begin += kSegment) {
      State segment{std::vector<float>(width)};
      for (std::int64_t tile = begin; tile < std::min(begin + kSegment, b.lengths[query]); tile += kTile)
        add_tile(b, query, tile, segment);
      if (begin == 0)
        total = segment;
      else
        merge(total, segment);
    }
    const float inverse = flushed(1.f / total.l);
    for (std::size_t d = 0; d < width; ++d) b.y[query][d] = fused(total.o[d], inverse, 0.f);
  }
}

}  // namespace tessera::reference
