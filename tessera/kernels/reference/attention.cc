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

float element(const KvStore& store, std::int64_t page, std::int64_t index, float scale) {
  const std::byte* at = store.data + page * store.page.bytes();
  if (store.page.type == DType::kF32) return reinterpret_cast<const float*>(at)[index];
  if (store.page.type == DType::kBf16)
    return std::bit_cast<float>(std::uint32_t{reinterpret_cast<const std::uint16_t*>(at)[index]} << 16);
  return product(decode(kE4M3, reinterpret_cast<const std::uint8_t*>(at)[index]), scale);
}

float sum_of(const std::array<float, kTile>& p) {
  std::array<float, 16> parts{};
  for (std::size_t i = 0; i < 16; ++i) parts[i] = sum(sum(p[i], p[i + 16]), sum(p[i + 32], p[i + 48]));
  for (std::size_t apart = 8; apart > 0; apart /= 2)
    for (std::size_t i = 0; i < apart; ++i) parts[i] = sum(parts[i], parts[i + apart]);
  return parts[0];
}

void add_tile(const AttentionTask& task, std::int64_t begin, State& state) {
  const KvStore& store = *task.store;
  const KvPage& page = store.page;
  const std::int64_t at = task.row->pages[begin / kTile];
  const std::int64_t count = std::min(kTile, task.row->position + 1 - begin);
  std::array<float, kTile> p{};
  float largest = state.m;
  for (std::int64_t i = 0; i < count; ++i) {
    float a = 0;
    for (std::int64_t d = 0; d < page.width; d += 2) {
      a = fused(element(store, at, page.key(task.head, i, d + 1), store.key_scale), task.q[d + 1], a);
      a = fused(element(store, at, page.key(task.head, i, d), store.key_scale), task.q[d], a);
    }
    p[static_cast<std::size_t>(i)] = product(a, task.scale);
    largest = std::max(largest, p[static_cast<std::size_t>(i)]);
  }
  const float c = flushed(math::exp2(sum(state.m, -largest)));
  for (std::int64_t i = 0; i < kTile; ++i) {
    float& x = p[static_cast<std::size_t>(i)];
    x = i < count ? flushed(math::exp2(sum(x, -largest))) : 0.f;
  }
  state.l = fused(state.l, c, sum_of(p));
  state.m = largest;
  if (page.type != DType::kF32)
    for (float& x : p) x = flushed(round_to(DType::kBf16, x));
  for (std::int64_t d = 0; d < page.width; ++d) {
    float& o = state.o[static_cast<std::size_t>(d)];
    o = product(o, c);
    for (std::int64_t i = 0; i < kTile; i += 2)
      for (const std::int64_t key : {i + 1, i}) {
        const float value = key < count ? element(store, at, page.value(task.head, key, d), store.value_scale) : 0.f;
        o = fused(value, p[static_cast<std::size_t>(key)], o);
      }
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

void attend(const AttentionTask& task) {
  const auto width = static_cast<std::size_t>(task.store->page.width);
  const std::int64_t length = task.row->position + 1;
  State total{std::vector<float>(width)};
  for (std::int64_t begin = 0; begin < length; begin += kSegment) {
    State segment{std::vector<float>(width)};
    for (std::int64_t tile = begin; tile < std::min(begin + kSegment, length); tile += kTile)
      add_tile(task, tile, segment);
    if (begin == 0)
      total = segment;
    else
      merge(total, segment);
  }
  const float inverse = flushed(1.f / total.l);
  for (std::size_t d = 0; d < width; ++d) task.y[d] = product(total.o[d], inverse);
}

}  // namespace tessera::reference
