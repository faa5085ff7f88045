// attend() as attention.h defines it, for the lanes of `Ops`. The caller has subnormals flushed (flush_scope.h).
#pragma once
#include "tessera/kernels/attention_block.h"
#include "tessera/kernels/cpu/lane_types.h"
#include "tessera/numeric/math.h"

namespace tessera::cpu {

// Fused steps over a pair, the odd one first: w holds pairs of bf16 or is two vectors of f32.
template <class Ops>
struct Pairs {
  using F = typename Ops::F;
  static F odd(typename Ops::U words) { return float_of<F>(words & 0xffff0000u); }
  static F even(typename Ops::U words) { return float_of<F>(words << 16); }
};

template <class Ops>
class AttentionLanes {
  using F = typename Ops::F;
  using U = typename Ops::U;
  using Block = tessera_lanes::AttentionBlock;
  static constexpr std::int64_t kLanes = Ops::kLanes, kTile = 64, kSegment = 512, kVectors = kTile / kLanes;
  static constexpr int kMost = Block::kQueries;
  static constexpr std::int64_t kWidest = 256;  // of a head
  static constexpr float kNothing = -__builtin_inff();

  struct State {
    alignas(64) float o[kWidest];
    float m, l;
  };

  static F at(const float* p) { return cpu::load<F>(p); }

  // The pair at `from` for each lane: bf16 words, or f32 pairs side by side.
  template <bool kWide>
  static void load_pair(const std::uint8_t* from, F& even, F& odd) {
    if constexpr (kWide) {
      const F low = cpu::load<F>(from), high = cpu::load<F>(from + sizeof(F));
      even = Ops::evens(low, high);
      odd = Ops::odds(low, high);
    } else {
      const U words = cpu::load<U>(from);
      even = Pairs<Ops>::even(words);
      odd = Pairs<Ops>::odd(words);
    }
  }

  // Scores of kRows queries against the 64 keys of a tile, kAtOnce vectors of keys at a time.
  template <int kRows, bool kWide>
  static void score(const Block& b, const std::uint8_t* keys, const int* rows, float (*scores)[kTile]) {
    constexpr std::int64_t kPair = (kWide ? 8 : 4) * kLanes;  // bytes of a pair for a vector of keys
    constexpr std::int64_t kAtOnce = kRows == 1 ? 4 : 2;
    for (std::int64_t v = 0; v < kVectors; v += kAtOnce) {
      F sum[kRows][kAtOnce] = {};
      for (std::int64_t pair = 0; pair < b.width / 2; ++pair) {
        F even[kAtOnce], odd[kAtOnce];
        for (std::int64_t j = 0; j < kAtOnce; ++j)
          load_pair<kWide>(keys + (pair * kVectors + v + j) * kPair, even[j], odd[j]);
        for (int r = 0; r < kRows; ++r) {
          const float* q = b.q[rows[r]] + 2 * pair;
          const F q1 = all<F>(q[1]), q0 = all<F>(q[0]);
          for (std::int64_t j = 0; j < kAtOnce; ++j)
            sum[r][j] = Ops::fused(even[j], q0, Ops::fused(odd[j], q1, sum[r][j]));
        }
      }
      for (int r = 0; r < kRows; ++r)
        for (std::int64_t j = 0; j < kAtOnce; ++j) cpu::store(scores[r] + (v + j) * kLanes, sum[r][j]);
    }
  }

  static float tree(float* parts) {
    for (int apart = 8; apart > 0; apart /= 2)
      for (int i = 0; i < apart; ++i) parts[i] += parts[i + apart];
    return parts[0];
  }

  // Scores become weights; gives the factor of what was summed before.
  static float soften(const Block& b, float* s, std::int64_t count, State& state) {
    F most = all<F>(state.m);
    for (std::int64_t i = 0; i < kTile; i += kLanes) {
      const auto outside = Ops::lanes_from(static_cast<int>(count - i < kLanes ? (count > i ? count - i : 0) : kLanes));
      F x = at(s + i) * all<F>(b.scale);
      x = outside ? all<F>(kNothing) : x;
      cpu::store(s + i, x);
      most = Ops::larger(x, most);
    }
    alignas(64) float lanes[16];
    cpu::store(lanes, most);
    float largest = lanes[0];
    for (int i = 1; i < kLanes; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
    const float c = math::exp2(state.m + -largest);
    for (std::int64_t i = 0; i < kTile; i += kLanes) {
      const F x = at(s + i), p = math::exp2(x + all<F>(-largest));
      const auto outside = Ops::lanes_from(static_cast<int>(count - i < kLanes ? (count > i ? count - i : 0) : kLanes));
      cpu::store(s + i, outside ? F{} : p);
    }
    alignas(64) float parts[16];
    for (std::int64_t i = 0; i < 16; i += kLanes)
      cpu::store(parts + i, (at(s + i) + at(s + i + 16)) + (at(s + i + 32) + at(s + i + 48)));
    state.l = __builtin_fmaf(state.l, c, tree(parts));
    state.m = largest;
    if (static_cast<DType>(b.type) != DType::kF32)
      for (std::int64_t i = 0; i < kTile; i += kLanes) cpu::store(s + i, round_to(DType::kBf16, at(s + i)));
    return c;
  }

  // o = the chain from o * c over the first `count` values, for kRows queries that see as many.
  template <int kRows, bool kWide>
  static void weigh(const Block& b, const std::uint8_t* values, std::int64_t count, float (*p)[kTile], const float* c,
                    State* const* states) {
    constexpr std::int64_t kOne = kWide ? 8 : 4;  // bytes of a pair
    constexpr std::int64_t kAtOnce = kRows == 1 ? 4 : 2;
    for (std::int64_t d = 0; d < b.width; d += kAtOnce * kLanes) {
      const std::int64_t vectors = b.width - d < kAtOnce * kLanes ? (b.width - d + kLanes - 1) / kLanes : kAtOnce;
      F o[kRows][kAtOnce] = {};
      for (int r = 0; r < kRows; ++r)
        for (std::int64_t j = 0; j < vectors; ++j) o[r][j] = at(states[r]->o + d + j * kLanes) * all<F>(c[r]);
      const auto add = [&](std::int64_t pair, bool both) {
        for (std::int64_t j = 0; j < vectors; ++j) {
          F even, odd;
          load_some<kWide>(values + (pair * b.width + d + j * kLanes) * kOne, b.width - d - j * kLanes, even, odd);
          for (int r = 0; r < kRows; ++r) {
            if (both) o[r][j] = Ops::fused(odd, all<F>(p[r][2 * pair + 1]), o[r][j]);
            o[r][j] = Ops::fused(even, all<F>(p[r][2 * pair]), o[r][j]);
          }
        }
      };
      for (std::int64_t pair = 0; pair < count / 2; ++pair) add(pair, true);
      if (count % 2 != 0) add(count / 2, false);
      for (int r = 0; r < kRows; ++r)
        for (std::int64_t j = 0; j < vectors; ++j) cpu::store(states[r]->o + d + j * kLanes, o[r][j]);
    }
  }

  // A pair for each of the next kLanes columns, of which `left` are there.
  template <bool kWide>
  static void load_some(const std::uint8_t* from, std::int64_t left, F& even, F& odd) {
    if (left >= kLanes) return load_pair<kWide>(from, even, odd);
    alignas(64) std::uint8_t rest[2 * sizeof(F)] = {};
    __builtin_memcpy(rest, from, static_cast<std::size_t>(left * (kWide ? 8 : 4)));
    load_pair<kWide>(rest, even, odd);
  }

  template <bool kWide>
  static void add_tile(const Block& b, const std::uint8_t* keys, const std::uint8_t* values, std::int64_t begin,
                       State* states) {
    int rows[kMost], n = 0;  // queries that see keys of this tile
    for (int i = 0; i < b.count; ++i)
      if (b.lengths[i] > begin) rows[n++] = i;
    alignas(64) float p[kMost][kTile];
    float c[kMost];
    State* own[kMost];
    std::int64_t counts[kMost];
    int i = 0;
    for (; i + 4 <= n; i += 4) score<4, kWide>(b, keys, rows + i, p + i);
    for (; i < n; ++i) score<1, kWide>(b, keys, rows + i, p + i);
    for (i = 0; i < n; ++i) {
      own[i] = states + rows[i];
      counts[i] = b.lengths[rows[i]] - begin < kTile ? b.lengths[rows[i]] - begin : kTile;
      c[i] = soften(b, p[i], counts[i], *own[i]);
    }
    for (i = 0; i < n;) {
      const bool alike =
          i + 4 <= n && counts[i] == counts[i + 1] && counts[i] == counts[i + 2] && counts[i] == counts[i + 3];
      if (alike)
        weigh<4, kWide>(b, values, counts[i], p + i, c + i, own + i);
      else
        weigh<1, kWide>(b, values, counts[i], p + i, c + i, own + i);
      i += alike ? 4 : 1;
    }
  }

  // FP8 codes as f32, times their scale; the place of each value stays.
  static void widen(const std::uint8_t* codes, std::int64_t count, float scale, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = decode(kE4M3, codes[i]) * scale;
  }

  static void merge(std::int64_t width, State& total, const State& segment) {
    const float m = segment.m > total.m ? segment.m : total.m;
    const float ct = math::exp2(total.m + -m), cs = math::exp2(segment.m + -m);
    for (std::int64_t d = 0; d < width; d += kLanes)
      cpu::store(total.o + d, Ops::fused(at(total.o + d), all<F>(ct), at(segment.o + d) * all<F>(cs)));
    total.l = __builtin_fmaf(total.l, ct, segment.l * cs);
    total.m = m;
  }

 public:
  static void run(const Block& b) {
    State total[kMost], segment[kMost];
    std::int64_t longest = 0;
    for (int i = 0; i < b.count; ++i) longest = b.lengths[i] > longest ? b.lengths[i] : longest;
    const auto type = static_cast<DType>(b.type);
    const std::int64_t tile_bytes = kTile * b.width * (type == DType::kF32 ? 4 : type == DType::kBf16 ? 2 : 1);
    alignas(64) float wide[2][kTile * (kWidest + 16)];
    for (std::int64_t begin = 0; begin < longest; begin += kSegment) {
      for (int i = 0; i < b.count; ++i) {
        for (float& o : segment[i].o) o = 0;
        segment[i].m = kNothing;
        segment[i].l = 0;
      }
      const std::int64_t end = longest - begin < kSegment ? longest : begin + kSegment;
      for (std::int64_t tile = begin; tile < end; tile += kTile) {
        const std::uint8_t* keys = b.head + b.pages[tile / kTile] * b.page_bytes;
        if (type == DType::kF32) {
          add_tile<true>(b, keys, keys + tile_bytes, tile, segment);
        } else if (type == DType::kBf16) {
          add_tile<false>(b, keys, keys + tile_bytes, tile, segment);
        } else {
          widen(keys, kTile * b.width, b.key_scale, wide[0]);
          widen(keys + tile_bytes, kTile * b.width, b.value_scale, wide[1]);
          add_tile<true>(b, reinterpret_cast<const std::uint8_t*>(wide[0]),
                         reinterpret_cast<const std::uint8_t*>(wide[1]), tile, segment);
        }
      }
      for (int i = 0; i < b.count; ++i) {
        if (b.lengths[i] <= begin) continue;
        if (begin == 0)
          total[i] = segment[i];
        else
          merge(b.width, total[i], segment[i]);
      }
    }
    for (int i = 0; i < b.count; ++i) {
      const float inverse = 1.f / total[i].l;
      for (std::int64_t d = 0; d < b.width; ++d) b.y[i][d] = __builtin_fmaf(total[i].o[d], inverse, 0.f);
    }
  }
};

template <class Ops>
void attend(const tessera_lanes::AttentionBlock& block) {
  AttentionLanes<Ops>::run(block);
}

}  // namespace tessera::cpu
