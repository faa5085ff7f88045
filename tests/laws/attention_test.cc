// Every implementation of attention gives the reference's bits, over types of cache and query, widths, groups, lengths
// at and beside the edges of tiles and segments, and numbers that are none.
#include "tessera/kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/numeric/lanes.h"
#include "tessera/numeric/philox.h"

namespace tessera {
namespace {

using Block = tessera_lanes::AttentionBlock;

struct Problem {
  KvPage page;
  std::vector<std::int64_t> lengths;
  std::vector<std::uint8_t> pages;  // bytes
  std::vector<std::int32_t> table;
  std::vector<float> q;

  Problem(DType type, std::int64_t width, std::vector<std::int64_t> rows, bool special)
      : page{.heads = 2, .width = width, .type = type}, lengths(std::move(rows)) {
    std::int64_t longest = 0;
    for (const std::int64_t n : lengths) longest = std::max(longest, n);
    const std::int64_t count = ceil_div(longest, KvPage::kTokens);
    pages.assign(static_cast<std::size_t>(count * page.bytes()), 0);
    for (std::int64_t i = 0; i < count; ++i) table.push_back(static_cast<std::int32_t>(count - 1 - i));
    for (std::int64_t i = 0; i < count * page.bytes() / (dtype_bits(type) / 8); ++i) put(i, number(i, special, 1));
    for (std::int64_t i = 0; i < width * static_cast<std::int64_t>(lengths.size()); ++i)
      q.push_back(round_to(type == DType::kF32 ? DType::kF32 : DType::kBf16, number(i, special, 2)));
  }

  static float number(std::int64_t i, bool special, std::uint64_t stream) {
    const std::uint32_t w = random_word({.seed = 5, .stream = stream}, static_cast<std::uint64_t>(i));
    if (special && w % 97 == 0) return kInfinity;
    if (special && w % 89 == 0) return 0x1p-130f;
    return static_cast<float>(static_cast<std::int32_t>(w)) * 0x1p-30f;
  }
  void put(std::int64_t i, float x) {
    if (page.type == DType::kF32)
      reinterpret_cast<float*>(pages.data())[i] = x;
    else if (page.type == DType::kBf16)
      reinterpret_cast<std::uint16_t*>(pages.data())[i] = bits16(DType::kBf16, round_to(DType::kBf16, x));
    else
      pages[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(encode(kE4M3, x));
  }

  std::vector<float> run(const AttentionImpl& impl) {
    const auto width = static_cast<std::size_t>(page.width);
    std::vector<float> y(q.size() + width, -7);
    Block b{.pages = table.data(),
            .head = pages.data() + page.key(1, 0, 0) * dtype_bits(page.type) / 8,
            .page_bytes = page.bytes(),
            .width = page.width,
            .type = static_cast<int>(page.type),
            .key_scale = 0.37f,
            .value_scale = 1.7f,
            .scale = 0.21f};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      b.q[i] = q.data() + i * width;
      b.y[i] = y.data() + i * width;
      b.lengths[i] = lengths[i];
      ++b.count;
    }
    EXPECT_TRUE(impl.fits(b));
    impl.run(b);
    return y;
  }
};

TEST(Attention, EveryImplementationGivesTheReferencesBits) {
  Stream stream(kCpu, 1);
  const AttentionImpl& reference = attention_impls().back();
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF8E4M3})
    for (const std::int64_t width : {2, 16, 30, 64, 128, 256})
      for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{1},
                                                       {63, 64, 65, 66, 67},
                                                       {511, 512, 513, 513, 513, 513},
                                                       {1025},
                                                       {5, 130, 600, 2, 64, 64, 64, 64, 64, 1}})
        for (const bool special : {false, true}) {
          Problem problem(type, width, lengths, special);
          const std::vector<float> expected = problem.run(reference);
          for (const AttentionImpl& impl : attention_impls()) {
            if (!impl.here(stream)) continue;
            const std::vector<float> y = problem.run(impl);
            for (std::size_t i = 0; i < y.size(); ++i) {
              if (is_nan(expected[i]) && is_nan(y[i])) continue;  // a NaN's sign and payload are the hardware's
              ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(expected[i]))
                  << impl.name << " " << dtype_name(type) << " width " << width << " at " << i
                  << (special ? " special" : "");
            }
          }
        }
}

// A query alone gives what it gives among others: the tile's work is shared, its sums are not.
TEST(Attention, AQueryDoesNotDependOnTheOthers) {
  Stream stream(kCpu, 1);
  for (const AttentionImpl& impl : attention_impls()) {
    if (!impl.here(stream)) continue;
    Problem all(DType::kBf16, 64, {5, 130, 600, 600, 600, 600, 64, 1}, false);
    const std::vector<float> together = all.run(impl);
    for (std::size_t i = 0; i < all.lengths.size(); ++i) {
      Problem one = all;
      one.lengths = {all.lengths[i]};
      one.q.assign(all.q.begin() + static_cast<std::ptrdiff_t>(64 * i),
                   all.q.begin() + static_cast<std::ptrdiff_t>(64 * (i + 1)));
      const std::vector<float> alone = one.run(impl);
      EXPECT_TRUE(std::equal(alone.begin(), alone.begin() + 64, together.begin() + static_cast<std::ptrdiff_t>(64 * i)))
          << impl.name << " " << i;
    }
  }
}

// What stands behind a query's own position is not there for it, whatever it is: of a batch's later tokens some may
// have overflowed.
TEST(Attention, LaterKeysDoNotReachAQuery) {
  Stream stream(kCpu, 1);
  for (const DType type : {DType::kF32, DType::kBf16})
    for (const AttentionImpl& impl : attention_impls()) {
      if (!impl.here(stream)) continue;
      Problem problem(type, 64, {5}, false);
      const std::vector<float> expected = problem.run(impl);
      for (std::int64_t token = 5; token < KvPage::kTokens; ++token)
        for (std::int64_t i = 0; i < 64; ++i) {
          problem.put(problem.page.key(1, token, i), kInfinity);
          problem.put(problem.page.value(1, token, i), kInfinity);
        }
      const std::vector<float> y = problem.run(impl);
      EXPECT_EQ(y, expected) << impl.name;  // no NaN among them: it would equal nothing
    }
}

}  // namespace
}  // namespace tessera
