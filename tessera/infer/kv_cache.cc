#include "tessera/infer/kv_cache.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera {

KvCache::KvCache(const models::LanguageShape& shape, DType type, std::int64_t pages)
    : holders_(static_cast<std::size_t>(pages), 0) {
  const KvPage page{.heads = shape.kv_heads, .width = shape.head_width, .type = type};
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    layers_.emplace_back(static_cast<std::size_t>(pages * page.bytes()), kCpu);
    stores_.push_back({.page = page, .data = layers_.back().data()});
  }
  for (std::int64_t i = pages; i-- > 0;) free_.push_back(static_cast<std::int32_t>(i));
}

std::size_t KvCache::bytes() const {
  std::size_t total = 0;
  for (const Buffer& layer : layers_) total += layer.bytes();
  return total;
}

void KvCache::set_scales(std::int64_t layer, float key, float value) {
  KvStore& store = stores_[static_cast<std::size_t>(layer)];
  store.key_scale = key;
  store.value_scale = value;
}

std::int32_t KvCache::take() {
  require(!free_.empty(), Errc::kResource, "the cache has room for {} tokens, and all of it is in use",
          capacity() * KvPage::kTokens);
  const std::int32_t page = free_.back();
  free_.pop_back();
  holders_[static_cast<std::size_t>(page)] = 1;
  for (const KvStore& store : stores_)
    std::fill_n(store.data + page * store.page.bytes(), store.page.bytes(), std::byte{});
  return page;
}

void KvCache::hold(std::int32_t page) { ++holders_[static_cast<std::size_t>(page)]; }

void KvCache::release(std::int32_t page) {
  if (--holders_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

}  // namespace tessera
