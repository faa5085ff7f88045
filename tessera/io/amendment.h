// An Amendment: what a checkpoint shows instead of what its files hold. A repair makes one; the files stay as they are,
// and everything that reads the amended checkpoint sees the repaired model.
//
// Law: an empty amendment changes nothing; amendments of amendments apply in order.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/io/container.h"
#include "tessera/io/stored_globals.h"

namespace tessera {

// A tensor under its old name. `read` fills `into` with its bytes from `begin` on, on any thread; `stored` is the
// tensor as `from` has it.
struct AmendedTensor {
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape{};
  std::function<void(const Container& from, const StoredTensor& stored, std::uint64_t begin, std::span<std::byte> into)>
      read{};
};

// Of the tensor as it is, with every byte replaced by what `table` has for it.
AmendedTensor amend_bytes(const StoredTensor& tensor, std::array<std::uint8_t, 256> table);
// Of the tensor as it is, with these bytes instead of its own.
AmendedTensor amend_whole(const StoredTensor& tensor, std::vector<std::byte> bytes);

struct Amendment {
  std::map<std::string, AmendedTensor, std::less<>> tensors{};
  std::set<std::string, std::less<>> dropped{};   // names of tensors
  std::optional<Json> config{}, sidecar{};        // config.json, hf_quant_config.json
  std::map<std::string, StoredGlobal> globals{};  // original bits, by the name of the global's tensor

  bool empty() const {
    return tensors.empty() && dropped.empty() && !config.has_value() && !sidecar.has_value() && globals.empty();
  }
};

// `from` as the amendment shows it. Throws kInvalid for a tensor that `from` has not.
Container amended(std::shared_ptr<const Container> from, const Amendment& amendment);

}  // namespace tessera
