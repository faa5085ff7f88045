// Globals whose bits a target dialect cannot hold travel in the file's metadata.
//
// compressed-tensors stores the divisor, others the multiplier; 1/(1/g) differs from g for about one g in seven. A
// conversion across senses writes the nearest f32 where foreign readers look, and the original bits and sense under the
// metadata key "tessera.globals": a JSON object from module name to "39aaaaab*" (multiply) or "45400000/" (divide).
// They count only as long as the file's own number is still the one that was derived from them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/numeric/writer.h"

namespace tessera {

inline constexpr std::string_view kGlobalsKey = "tessera.globals";

// 1 / global in f32. Of a subnormal whose reciprocal no f32 holds, the largest one: readers take no infinity.
float reciprocal(float global);

struct StoredGlobal {
  float bits = 1;
  Sense sense = Sense::kMultiply;
  float value() const;  // as a multiplier, nearest
  bool operator==(const StoredGlobal&) const = default;
};

// The number that stands for `original` in a dialect of another sense: itself, or its reciprocal.
float across_sense(const StoredGlobal& original, Sense target);

class StoredGlobals final {
 public:
  void keep(std::string name, StoredGlobal original) { kept_.insert_or_assign(std::move(name), original); }
  // What the file's number was derived from; nothing where it was not, or has been changed since.
  std::optional<StoredGlobal> original(std::string_view name, float found, Sense sense) const;
  bool knows(std::string_view name) const { return kept_.find(name) != kept_.end(); }
  bool empty() const { return kept_.empty(); }

  std::string text() const;                           // the value of the metadata key
  static StoredGlobals parse(std::string_view text);  // throws kCorrupt

 private:
  std::map<std::string, StoredGlobal, std::less<>> kept_;
};

}  // namespace tessera
