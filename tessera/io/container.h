// A Container: the tensors of one model on disk, by name, whatever file they are in. It knows names, types, shapes and
// bytes; what they mean together is a Dialect's matter.
//
// Opens a Hugging Face style folder (with or without an index), one .safetensors or .gguf file, or an index file.
// Opening reads headers only. Every rule of spec 3.3 holds or opening throws:
//   kNotFound  an absent file, or a shard that the index names      kCorrupt  bytes that break the format's rules
//   kResource  the system refused a read
// Law: bytes from outside cause only Error; memory is bounded by the size of the headers.
// Source: safetensors format description; GGUF specification; docs/formats/{safetensors,gguf}.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/numeric/dtype.h"

namespace tessera {

struct Amendment;

struct StoredTensor {
  std::string name;
  DType dtype = DType::kU8;         // kU8 for ggml blocks
  std::string type;                 // as the file says it: "BF16", "Q4_1"
  std::vector<std::int64_t> shape;  // elements, rows first (a GGUF's dimensions are turned round)
  std::uint64_t bytes = 0;
  std::uint32_t file = 0;    // index into Container::files()
  std::uint64_t offset = 0;  // from the beginning of that file
  int ggml_type = -1;        // a GGUF's type number; -1 elsewhere

  std::int64_t elements() const;
};

struct ContainerFile {
  std::string path;  // as it can be opened
  std::uint64_t bytes = 0;
  std::map<std::string, std::string> metadata;  // safetensors' __metadata__
};

struct ContainerWarning {
  std::string code, tensor, message;
};

class Container final {
 public:
  enum class Kind : std::uint8_t { kFolder, kFile, kGguf };

  static Container open(const std::string& path);
  ~Container();
  Container(Container&&) noexcept;
  Container& operator=(Container&&) noexcept;

  Kind kind() const;
  const std::string& path() const;
  const std::string& folder() const;  // where config.json would stand; "" is the current folder
  std::span<const ContainerFile> files() const;
  std::span<const StoredTensor> tensors() const;  // sorted by name, no duplicates
  const StoredTensor* find(std::string_view name) const;
  const Json& gguf_metadata() const;                   // key -> value; an empty object unless kGguf
  std::span<const ContainerWarning> warnings() const;  // e.g. an index whose total_size is wrong

  // Reads `into.size()` bytes of the tensor from `begin` (bytes from its start). Any thread. Throws kResource.
  void read(const StoredTensor& tensor, std::uint64_t begin, std::span<std::byte> into) const;
  std::vector<std::byte> read_all(const StoredTensor& tensor) const;
  // The tensor's bytes in place, mapped on first use; valid as long as the container.
  std::span<const std::byte> map(const StoredTensor& tensor) const;

 private:
  struct Impl;
  friend Container amended(std::shared_ptr<const Container> from, const Amendment& amendment);
  explicit Container(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The text of `folder`/`name`, or "" when there is no such file. Throws kResource; kCorrupt beyond `limit` bytes.
std::string read_side_file(const std::string& folder, std::string_view name, std::uint64_t limit = 256u << 20);

}  // namespace tessera
