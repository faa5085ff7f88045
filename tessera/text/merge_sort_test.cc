#include "tessera/text/merge_sort.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(MergeSort, IsStable) {
  std::vector<std::pair<int, int>> items = {{2, 0}, {1, 1}, {2, 2}, {1, 3}, {0, 4}, {2, 5}, {1, 6}};
  merge_sort(std::span(items), [](const auto& a, const auto& b) { return a.first < b.first; });
  EXPECT_EQ(items, (std::vector<std::pair<int, int>>{{0, 4}, {1, 1}, {1, 3}, {1, 6}, {2, 0}, {2, 2}, {2, 5}}));
}

TEST(MergeSort, KeepsEveryItemUnderAnOrderThatIsNone) {
  std::vector<double> items;
  for (int i = 0; i < 1000; ++i) items.push_back(i % 3 == 0 ? std::nan("") : std::sin(i));
  merge_sort(std::span(items), [](double, double) { return true; });
  EXPECT_EQ(items.size(), 1000u);
}

}  // namespace
}  // namespace tessera
