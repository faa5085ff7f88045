// JSON and YAML values. Objects keep the order of the text; a key stands once.
// Parsing untrusted text throws only Error: malformed text, a key written twice, invalid UTF-8, too deep. Memory is
// bounded by the text (JSON: about 50 bytes a byte; YAML aliases may not expand to more than 2^20 values or 64 MiB of
// strings).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

class Json;
using JsonArray = std::vector<Json>;
using JsonObject = std::vector<std::pair<std::string, Json>>;

class Json final {
 public:
  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool v) : value_(v) {}
  Json(int v) : value_(std::int64_t{v}) {}
  Json(std::int64_t v) : value_(v) {}
  Json(std::uint64_t v);  // one number, one form: an int64 where it fits, so that 5 == 5u
  Json(double v) : value_(v) {}
  Json(const char* v) : value_(std::string(v)) {}
  Json(std::string_view v) : value_(std::string(v)) {}
  Json(std::string v) : value_(std::move(v)) {}
  Json(JsonArray v) : value_(std::move(v)) {}
  Json(JsonObject v) : value_(std::move(v)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const;  // signed or unsigned, no fraction in the text
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<JsonArray>(value_); }
  bool is_object() const { return std::holds_alternative<JsonObject>(value_); }

  // Each throws kCorrupt, naming what is there instead.
  bool as_bool() const;
  std::int64_t as_int64() const;    // integers in range only
  std::uint64_t as_uint64() const;  // likewise
  double as_double() const;         // any number
  const std::string& as_string() const;
  const JsonArray& as_array() const;
  JsonArray& as_array();
  const JsonObject& as_object() const;
  JsonObject& as_object();

  // Absence is normal: null when this is no object or has no such key. `find("a", "b")` looks inside.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }
  template <class... Keys>
  const Json* find(std::string_view key, const Keys&... rest) const {
    const Json* inner = find(key);
    return inner ? inner->find(rest...) : nullptr;
  }
  std::string string_or(std::string_view key, std::string_view otherwise) const;  // otherwise: absent or no string
  Json& set(std::string key, Json value);  // adds or replaces; makes an object of null; returns the value
  void erase(std::string_view key);
  void push(Json value);  // makes an array of null

  // indent < 0: one line without spaces. Non-finite numbers are written as null. Strings are escaped only where JSON
  // must; bytes that are not UTF-8 become U+FFFD. Law: parse_json(j.dump()) == j for finite numbers and UTF-8 strings.
  std::string dump(int indent = -1) const;
  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, JsonArray, JsonObject> value_;
};

struct JsonLimits {
  int depth = 64;
  bool ascii_space_around = true;  // white space before and after the value
};
// kCorrupt, with line and column where the text is malformed.
Json parse_json(std::string_view text, const JsonLimits& limits = {});

// One document. Plain scalars are typed by YAML 1.2's core rules (`yes` is a string, `0o17` is 15, `.inf` a number);
// quoted ones are strings; keys are always strings. No text is null. Source: YAML 1.2.2, section 10.3.2.
// kInvalid with the line: malformed, a key twice, a key that is no scalar, a tag other than the core ones, two
// documents.
Json parse_yaml(std::string_view text);

}  // namespace tessera
