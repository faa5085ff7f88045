// The parts of a tokenizer.json name their kind: {"type": "NFC", ...}. One file each in normalizers/, pre_tokenizers/,
// post_processors/, decoders/ and token_models/; the folder is the registry.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"

namespace tessera {

template <class Part>
struct PartKind {
  std::string_view name;                            // as in "type"
  std::unique_ptr<Part> (*make)(const Json& json);  // throws kCorrupt for fields that are absent or wrong
};

// Throws kUnsupported for a kind that is not among `kinds`, listing those that are.
template <class Part>
std::unique_ptr<Part> make_part(std::span<const PartKind<Part>* const> kinds, std::string_view what, const Json& json) {
  const Json* type = json.find("type");
  require(type != nullptr && type->is_string(), Errc::kCorrupt, "a {} without a \"type\"", what);
  std::string names;
  for (const PartKind<Part>* kind : kinds) {
    if (kind->name == type->as_string()) {
      try {
        return kind->make(json);
      } catch (Error& e) {
        e.add_note(fmt::format("reading the {} {}", what, kind->name));
        throw;
      }
    }
    names.append(names.empty() ? "" : ", ").append(kind->name);
  }
  fail(Errc::kUnsupported, "no {} '{}'; there are: {}", what, printable(type->as_string()), names);
}

// The fields of a part. Each throws kCorrupt, naming the field.
const Json& field(const Json& json, std::string_view name);
bool bool_field(const Json& json, std::string_view name, bool otherwise);
std::string string_field(const Json& json, std::string_view name);                              // must be there
std::string string_field(const Json& json, std::string_view name, std::string_view otherwise);  // absent or null

}  // namespace tessera
