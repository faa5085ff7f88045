// Writes GGUF files for tests: version 3, little endian, aligned to 32.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"

namespace tessera::test {

struct BuiltTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // rows first
  std::string type;                 // "F32"
  std::vector<std::byte> bytes;     // empty: zeros, a hole in the file
};

class GgufBuilder final {
 public:
  // `types` as gguf-py names them: {"UINT32"}, {"ARRAY", "STRING"}. A key again: the new value, in the old place.
  GgufBuilder& key(const std::string& name, const std::vector<std::string>& types, Json value);
  GgufBuilder& number(const std::string& name, std::int64_t value) { return key(name, {"UINT32"}, value); }
  GgufBuilder& text(const std::string& name, std::string_view value) { return key(name, {"STRING"}, value); }
  GgufBuilder& without(std::string_view name);  // a key or a tensor
  GgufBuilder& tensor(BuiltTensor tensor);      // a name again: in the old place

  std::string header() const;                 // up to the first byte of the tensors
  void write(const std::string& path) const;  // a new file

 private:
  struct Key {
    std::string name;
    std::vector<std::string> types;
    Json value;
  };
  std::vector<Key> keys_;
  std::vector<BuiltTensor> tensors_;
};

std::vector<std::byte> f32_bytes(const std::vector<float>& values);

}  // namespace tessera::test
