// Tokenizer: text to token ids and back, as the file tokenizer.json says.
//
//   const Tokenizer tokenizer = Tokenizer::open("models/smollm2");
//   const Encoding encoding = tokenizer.encode("Hello, world!");
//   tokenizer.decode(encoding.ids);
//
// Law: ids, offsets and text are those of the tokenizers library for the same file (tests/conformance/text_*).
// Any thread may use one tokenizer at any time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/text/encoding.h"

namespace tessera {

enum class SpecialTokens : std::uint8_t { kWithout, kWith };

class Tokenizer final {
 public:
  // The text of a tokenizer.json. Throws kCorrupt for what is none; kUnsupported for a part that is not known, naming
  // it and those that are.
  static Tokenizer parse(std::string_view json);
  // A folder that holds a tokenizer.json, or such a file. Throws kNotFound besides.
  static Tokenizer open(const std::string& path);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // special: the tokens that the post-processor puts around a text; those that stand in the text are always found.
  // Throws kInvalid for a text that is not UTF-8, or of 2^31 bytes and more.
  Encoding encode(std::string_view text, SpecialTokens special = SpecialTokens::kWith) const;

  // kWithout leaves special tokens out. An id without a token is left out: models have more outputs than tokens.
  // Always UTF-8: U+FFFD stands for bytes that are none.
  std::string decode(std::span<const std::int32_t> ids, SpecialTokens special = SpecialTokens::kWith) const;

  std::optional<std::int32_t> find(std::string_view token) const;
  const std::string* token(std::int32_t id) const;  // as in the file; null: there is none
  bool is_special(std::int32_t id) const;
  std::size_t size() const;  // tokens, the added ones too

  // Where the file contradicts itself in a way that readers overlook: added tokens with another id than it says.
  const std::vector<std::string>& warnings() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tessera
