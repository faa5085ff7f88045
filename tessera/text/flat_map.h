// FlatMap: 64-bit keys to values in one array, for tables that are built once and read millions of times.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

template <class Value>
class FlatMap final {
 public:
  FlatMap() : slots_(16) {}

  std::size_t size() const { return size_; }
  // The value of the key; null: it has none. Valid until the next insert.
  const Value* find(std::uint64_t key) const {
    for (std::size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (!slots_[at].used) return nullptr;
      if (slots_[at].key == key) return &slots_[at].value;
    }
  }
  // The value that stands for the key afterwards: the one there was, or this one.
  Value& insert(std::uint64_t key, Value value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = place(key);
    while (slots_[at].used && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    if (!slots_[at].used) {
      slots_[at] = {key, std::move(value), true};
      ++size_;
    }
    return slots_[at].value;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  std::size_t place(std::uint64_t key) const {  // the finalizer of SplitMix64
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>(key ^ (key >> 31)) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    size_ = 0;
    for (Slot& slot : old)
      if (slot.used) insert(slot.key, std::move(slot.value));
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  std::size_t size_ = 0;
};

}  // namespace tessera
