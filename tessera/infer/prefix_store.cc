#include "tessera/infer/prefix_store.h"

#include <algorithm>

namespace tessera {

Sequence PrefixStore::find(std::span<const std::int32_t> ids) {
  auto best = texts_.end();
  std::size_t longest = 0;
  for (auto text = texts_.begin(); text != texts_.end(); ++text) {
    const std::size_t most = std::min(
        {static_cast<std::size_t>(text->sequence.length()), text->ids.size(), ids.empty() ? 0 : ids.size() - 1});
    const auto differs = std::mismatch(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(most), text->ids.begin());
    const auto same = static_cast<std::size_t>(differs.first - ids.begin()) / KvPage::kTokens * KvPage::kTokens;
    if (same <= longest) continue;
    longest = same;
    best = text;
  }
  if (best == texts_.end()) return engine_.start();
  texts_.splice(texts_.begin(), texts_, best);
  return best->sequence.fork(static_cast<std::int64_t>(longest));
}

void PrefixStore::keep(std::vector<std::int32_t> ids, Sequence sequence) {
  if (sequence.length() < KvPage::kTokens) return;
  texts_.push_front({std::move(ids), std::move(sequence)});
  if (texts_.size() > kMost) texts_.pop_back();
}

void PrefixStore::make_room(std::int64_t pages) {
  while (!texts_.empty() && engine_.cache().free_pages() < pages) texts_.pop_back();
}

}  // namespace tessera
