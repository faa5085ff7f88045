// Writes one safetensors file whose tensors are known before their bytes: plan, write in any order from any thread,
// finish. The file is a function of the plan alone: tensors stand as the reference writer lays them out (wide types
// first, then by name), the header is padded with spaces to a multiple of 8 bytes, metadata is sorted by key. Law: a
// file that the reference wrote, planned and written again, has the same bytes (metadata: up to its order). Source:
// spec 3.1, 3.2, 3.5.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/numeric/dtype.h"

namespace tessera {

struct PlannedTensor {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;  // elements; F4: logical
  std::string group;                // tensors of one group share a file when there are shards: a module's name
};

// Bytes of its values. Throws kInvalid, naming the tensor, for a shape that has no whole number of bytes.
std::uint64_t planned_bytes(const PlannedTensor& tensor);

using SafetensorsMetadata = std::map<std::string, std::string>;

class SafetensorsWriter final {
 public:
  // Creates `path`, which must not exist, at its full size. Throws kInvalid: a name twice or empty or "__metadata__", a
  // shape that has no whole bytes, a header beyond the format's limit; kResource: a full disk.
  SafetensorsWriter(const std::string& path, std::vector<PlannedTensor> tensors,
                    const SafetensorsMetadata& metadata = {{"format", "pt"}});
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  ~SafetensorsWriter();

  // Writes `bytes` at `begin` (bytes from the tensor's start). Each byte once. Any thread.
  // Throws kNotFound for a tensor that was not planned, kInvalid beyond its end.
  void write(std::string_view name, std::uint64_t begin, std::span<const std::byte> bytes);

  // Syncs. Throws kInvalid when a planned tensor got fewer or more bytes than it has.
  void finish();

  std::uint64_t data_bytes() const;  // of all tensors

 private:
  struct Slot;
  std::vector<Slot> slots_;  // sorted by name
  File file_;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace tessera
