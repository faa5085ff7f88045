#include "tessera/io/grid.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

// cuBLAS's own examples of the layout (spec/checkpoint-dialects.md, appendix A).
TEST(Grid, TilesAreThoseOfCublas) {
  const Grid four{.order = GridOrder::kTiles, .stored = {256, 4}};
  for (const auto& [row, col, at] : {std::tuple{0, 0, 0},
                                     {0, 3, 3},
                                     {1, 0, 16},
                                     {31, 0, 496},
                                     {32, 0, 4},
                                     {64, 0, 8},
                                     {96, 0, 12},
                                     {127, 3, 511},
                                     {128, 0, 512}})
    EXPECT_EQ(four.index(row, col), at) << row << " " << col;
  const Grid eight{.order = GridOrder::kTiles, .stored = {256, 8}};
  EXPECT_EQ(eight.index(0, 4), 512);
  EXPECT_EQ(eight.index(128, 0), 1024);
}

// Every unit has a place of its own, within the range that is said to hold it; what is put there is found there.
TEST(Grid, PutsEachUnitInItsOwnPlace) {
  for (const GridOrder order : {GridOrder::kRows, GridOrder::kColumns, GridOrder::kTiles})
    for (const std::int64_t rows : {1, 5, 127, 128, 130})
      for (const std::int64_t cols : {1, 4, 6})
        for (const std::int64_t step : {1, 2}) {
          const Extent all{order == GridOrder::kTiles ? round_up(rows * step, 128) : rows * step,
                           order == GridOrder::kTiles ? round_up(cols, 4) : cols + 1};
          const Grid g{.order = order, .stored = all, .origin = all.count(), .first_row = step - 1, .row_step = step};
          std::set<std::int64_t> seen;
          const std::int64_t first = rows / 2;
          const Extent part{rows - first, cols};
          const UnitRange range = units_of(g, part, first);
          EXPECT_GE(range.begin, g.origin);
          EXPECT_LE(range.end, g.origin + all.count());
          std::vector<std::byte> values(static_cast<std::size_t>(part.count())),
              stored(static_cast<std::size_t>(range.end - range.begin));
          for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i % 251 + 1);
          put_grid(values, g, 1, part, first, stored, range);
          for (std::int64_t r = 0; r < part.rows; ++r)
            for (std::int64_t c = 0; c < part.cols; ++c) {
              const std::int64_t at = g.index(first + r, c);
              EXPECT_TRUE(seen.insert(at).second);
              ASSERT_TRUE(at >= range.begin && at < range.end);
              EXPECT_EQ(stored[static_cast<std::size_t>(at - range.begin)],
                        values[static_cast<std::size_t>(r * part.cols + c)]);
            }
        }
}

}  // namespace
}  // namespace tessera
