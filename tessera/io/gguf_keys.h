// The keys of a GGUF file that begin with one prefix ("llama.", "tokenizer.ggml."), read with their types checked.
// It remembers what was asked for, so that what nobody read can be reported.
// Throws kCorrupt, naming the key, for a value of another type and for an absent key that `required_` asks for.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"

namespace tessera {

class GgufKeys final {
 public:
  // `metadata`: Container::gguf_metadata(); outlives this.
  GgufKeys(const Json& metadata, std::string prefix) : metadata_(metadata), prefix_(std::move(prefix)) {}

  // `key` is what follows the prefix.
  std::optional<std::int64_t> integer(std::string_view key);
  std::int64_t required_integer(std::string_view key);
  // The shortest decimal that names the stored f32: 9.99999974e-06 is 1e-05.
  std::optional<double> real(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  const JsonArray* list(std::string_view key);                       // null when absent
  void mark_read(std::string_view key) { read_.insert(full(key)); }  // known, and of no use here

  std::string full(std::string_view key) const;
  std::vector<std::string> unread() const;  // full names, in the file's order

 private:
  const Json* find(std::string_view key);

  const Json& metadata_;
  std::string prefix_;
  std::set<std::string> read_;
};

}  // namespace tessera
