// merge_sort: a stable sort that stays within its list whatever `less` answers, or throws. What templates compare
// (NaN among numbers) need not have an order, and std::sort then reads beyond the end.
#pragma once
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

template <class T, class Less>
void merge_sort(std::span<T> items, const Less& less) {
  if (items.size() < 2) return;
  const std::size_t half = items.size() / 2;
  merge_sort(items.first(half), less);
  merge_sort(items.subspan(half), less);
  std::vector<T> merged;
  merged.reserve(items.size());
  std::size_t left = 0, right = half;
  while (left < half && right < items.size())
    merged.push_back(std::move(items[less(items[right], items[left]) ? right++ : left++]));
  while (left < half) merged.push_back(std::move(items[left++]));
  while (right < items.size()) merged.push_back(std::move(items[right++]));
  for (std::size_t i = 0; i < merged.size(); ++i) items[i] = std::move(merged[i]);
}

}  // namespace tessera
