// Causal attention over a paged cache of keys and values, for many sequences at once: grouped queries, any even head
// width. Rows are tokens; each knows its sequence's pages and its own position.
//
// What an output row is (law 1: a function of its query and of the keys and values before it, and of nothing else):
//   keys are walked in tiles of 64, at multiples of 64 of the sequence, and tiles in segments of 512
//   in a tile: score = scale * (the chain over the pairs of the head's width, as in gemm.h); later keys are not there
//     m' = max(m, largest score);  c = 2^(m - m');  p = 2^(score - m'), by numeric/math.h
//     l = fma(l, c, sum of p)      (key i adds to part i % 16: keys i, i + 16, i + 32, i + 48 as (0 + 1) + (2 + 3), and
//                                   the parts in a tree, 8, 4, 2, 1 apart)
//     o = the chain over the pairs of the tile's keys from o * c, p rounded to the cache's type where that is bf16
//   a segment starts from nothing; segments are merged in ascending order: o = fma(o, c, o' * c'), l likewise
//   y = round(fma(o, 1 / l, +0))
// scale is log2(e) times the model's. In f32, nearest-even, subnormals being zeros as in gemm.h.
// Source: Dao, FlashAttention-2 (2023), algorithm 1; Milakov and Gimelshein (2018) for the running maximum.
#pragma once
#include <span>
#include <string_view>

#include "tessera/kernels/attention_block.h"
#include "tessera/kernels/kv_page.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

struct AttentionRow {
  const std::int32_t* pages = nullptr;  // of its sequence: page i holds positions 64 i to 64 i + 63
  std::int64_t position = 0;
};

struct KvStore {
  KvPage page{};
  std::byte* data = nullptr;             // page p starts at p * page.bytes()
  float key_scale = 1, value_scale = 1;  // of FP8
};

// Writes each row's key and value to its place. k, v: [rows, page.heads * page.width] F32 or BF16, from column
// `key_column` and `value_column` of their tensors.
struct KvWrite {
  const Tensor &k, &v;
  std::int64_t key_column = 0, value_column = 0;
  std::span<const AttentionRow> rows;
  KvStore store;
};
void write_keys_and_values(Stream& stream, const KvWrite& args);

struct AttentionArgs {
  const Tensor& q;  // [rows, ...] F32 or BF16; heads * page.width values from q_column on
  std::int64_t q_column = 0;
  std::int64_t heads = 0;  // of queries: a multiple of page.heads; query head h reads head h / (heads / page.heads)
  float scale = 0;         // of the model: 1 / sqrt(width), as a rule
  std::span<const AttentionRow> rows;
  KvStore store;
  Tensor& y;  // [rows, heads * page.width] F32 or BF16
};
// Throws kShape, kUnsupported.
void attend(Stream& stream, const AttentionArgs& args);

// What implementations do (attention_block.h): a few queries that read the same keys.
struct AttentionImpl {
  std::string_view name;
  bool (*here)(const Stream&);
  bool (*fits)(const tessera_lanes::AttentionBlock&);
  void (*run)(const tessera_lanes::AttentionBlock&);
};
std::span<const AttentionImpl> attention_impls();  // most special first, the reference last

}  // namespace tessera
