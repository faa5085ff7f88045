// KvCache: pages of keys and values for all layers of a model, and who holds them. A page is 64 tokens of one sequence,
// in every layer under one number; pages are counted, so that sequences with a common beginning can share its pages.
#pragma once
#include <cstdint>
#include <vector>

#include "tessera/kernels/attention.h"
#include "tessera/models/language_model.h"

namespace tessera {

class KvCache final {
 public:
  // type: F32, BF16 or F8_E4M3. Throws kResource.
  KvCache(const models::LanguageShape& shape, DType type, std::int64_t pages);

  std::int64_t capacity() const { return static_cast<std::int64_t>(holders_.size()); }  // pages
  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }
  std::size_t bytes() const;
  const KvStore& store(std::int64_t layer) const { return stores_[static_cast<std::size_t>(layer)]; }

  // What FP8 codes of a layer's keys and values are multiplied by; 1 at first.
  void set_scales(std::int64_t layer, float key, float value);

  // A page of zeros with one holder. Throws kResource, saying how many tokens there is room for.
  std::int32_t take();
  void hold(std::int32_t page);  // one more holder
  void release(std::int32_t page);

 private:
  std::vector<Buffer> layers_;
  std::vector<KvStore> stores_;
  std::vector<int> holders_;
  std::vector<std::int32_t> free_;
};

}  // namespace tessera
