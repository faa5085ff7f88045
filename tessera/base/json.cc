#include "tessera/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "a boolean";
  if (value.is_integer()) return "an integer";
  if (value.is_number()) return "a number with a fraction";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "an object";
}

[[noreturn]] void fail_kind(std::string_view wanted, const Json& found) {
  if (found.is_array() || found.is_object() || found.is_null())
    fail(Errc::kCorrupt, "{} is expected, and {} is there", wanted, kind_of(found));
  fail(Errc::kCorrupt, "{} is expected, and {} is there: {}", wanted, kind_of(found), printable(found.dump()));
}

// The first key that stands twice. Sorting keeps hostile objects at n log n.
std::optional<std::string_view> repeated_key(const JsonObject& object) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (const auto& [key, value] : object) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return std::nullopt;
  return *twice;
}

// nlohmann's parser keeps its own stack, so depth costs no recursion there; ours is bounded because ~Json recurses.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  bool null() override { return add(Json()); }
  bool boolean(bool v) override { return add(Json(v)); }
  bool number_integer(number_integer_t v) override { return add(Json(std::int64_t{v})); }
  bool number_unsigned(number_unsigned_t v) override { return add(Json(std::uint64_t{v})); }
  bool number_float(number_float_t v, const string_t&) override { return add(Json(v)); }
  bool string(string_t& v) override { return add(Json(std::move(v))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json(JsonObject())); }
  bool start_array(std::size_t) override { return open(Json(JsonArray())); }
  bool end_array() override { return close(); }
  bool key(string_t& v) override {
    stack_.back().key = std::move(v);
    return true;
  }
  bool end_object() override {
    if (const auto key = repeated_key(stack_.back().value.as_object()))
      fail(Errc::kCorrupt, "the key '{}' stands twice in one JSON object", printable(*key));
    return close();
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
    std::string_view reason =
        e.what();  // "[json.exception.parse_error.101] parse error at ...: syntax error while ..."
    if (const std::size_t colon = reason.find(": "); colon != std::string_view::npos) reason.remove_prefix(colon + 2);
    fail(Errc::kCorrupt, "malformed JSON at line {}, column {}: {}", line, column, printable(reason, 300));
  }

  Json take() { return std::move(root_); }

 private:
  struct Frame {
    Json value;
    std::string key;  // of the member that comes next
  };

  bool add(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Frame& top = stack_.back();
    if (top.value.is_array()) {
      top.value.as_array().push_back(std::move(value));
    } else {
      top.value.as_object().emplace_back(std::move(top.key), std::move(value));
    }
    return true;
  }
  bool open(Json value) {
    require(stack_.size() < static_cast<std::size_t>(limits_.depth), Errc::kCorrupt,
            "JSON is nested more than {} levels deep", limits_.depth);
    stack_.push_back({std::move(value), {}});
    return true;
  }
  bool close() {
    Json value = std::move(stack_.back().value);
    stack_.pop_back();
    return add(std::move(value));
  }

  std::string_view text_;
  const JsonLimits& limits_;
  std::vector<Frame> stack_;
  Json root_;
};

void append_quoted(std::string& out, std::string_view bytes) {
  out += '"';
  for (const char c : is_utf8(bytes) ? std::string(bytes) : replace_invalid_utf8(bytes)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// The shortest digits that read back the same; an exponent below 1e-4 and from 1e16 on, as the field's other tools
// write.
void append_double(std::string& out, double v) {
  if (!std::isfinite(v)) {
    out += "null";
    return;
  }
  const double a = std::abs(v);
  const bool fixed = a == 0 || (a >= 1e-4 && a < 1e16);
  char text[64];
  const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(text, text + sizeof text, v, format).ptr;
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  out += digits;
  if (fixed && digits.find('.') == std::string_view::npos) out += ".0";
}

class Dumper final {
 public:
  explicit Dumper(int indent) : indent_(indent) {}

  void append(const Json& value, int depth) {
    if (value.is_null()) {
      out_ += "null";
    } else if (value.is_bool()) {
      out_ += value.as_bool() ? "true" : "false";
    } else if (value.is_integer()) {
      append_integer(value);
    } else if (value.is_number()) {
      append_double(out_, value.as_double());
    } else if (value.is_string()) {
      append_quoted(out_, value.as_string());
    } else if (value.is_array()) {
      append_list(value.as_array(), depth, "[]", [&](const Json& item) { append(item, depth + 1); });
    } else {
      append_list(value.as_object(), depth, "{}", [&](const auto& member) {
        append_quoted(out_, member.first);
        out_ += indent_ < 0 ? ":" : ": ";
        append(member.second, depth + 1);
      });
    }
  }
  std::string take() { return std::move(out_); }

 private:
  // Through the sign first: as_uint64 has the numbers that int64 has not.
  void append_integer(const Json& value) {
    const bool negative = value.as_double() < 0;
    out_ += negative ? fmt::format("{}", value.as_int64()) : fmt::format("{}", value.as_uint64());
  }
  template <class List, class Each>
  void append_list(const List& list, int depth, const char* brackets, Each each) {
    out_ += brackets[0];
    bool first = true;
    for (const auto& item : list) {
      if (!first) out_ += ',';
      first = false;
      break_line(depth + 1);
      each(item);
    }
    if (!list.empty()) break_line(depth);
    out_ += brackets[1];
  }
  void break_line(int depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth * indent_), ' ');
  }

  std::string out_;
  int indent_;
};

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Json::Json(std::uint64_t v) {
  if (v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(v);
  } else {
    value_ = v;
  }
}

bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_);
}

bool Json::as_bool() const {
  if (const bool* v = std::get_if<bool>(&value_)) return *v;
  fail_kind("a boolean", *this);
}

std::int64_t Json::as_int64() const {
  if (const std::int64_t* v = std::get_if<std::int64_t>(&value_)) return *v;
  fail_kind("an integer below 2^63", *this);
}

std::uint64_t Json::as_uint64() const {
  if (const std::uint64_t* v = std::get_if<std::uint64_t>(&value_)) return *v;
  if (const std::int64_t* v = std::get_if<std::int64_t>(&value_); v && *v >= 0) return static_cast<std::uint64_t>(*v);
  fail_kind("an integer, zero or more", *this);
}

double Json::as_double() const {
  if (const double* v = std::get_if<double>(&value_)) return *v;
  if (const std::int64_t* v = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*v);
  if (const std::uint64_t* v = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*v);
  fail_kind("a number", *this);
}

const std::string& Json::as_string() const {
  if (const std::string* v = std::get_if<std::string>(&value_)) return *v;
  fail_kind("a string", *this);
}

const JsonArray& Json::as_array() const {
  if (const JsonArray* v = std::get_if<JsonArray>(&value_)) return *v;
  fail_kind("a list", *this);
}
JsonArray& Json::as_array() { return const_cast<JsonArray&>(std::as_const(*this).as_array()); }

const JsonObject& Json::as_object() const {
  if (const JsonObject* v = std::get_if<JsonObject>(&value_)) return *v;
  fail_kind("an object", *this);
}
JsonObject& Json::as_object() { return const_cast<JsonObject&>(std::as_const(*this).as_object()); }

const Json* Json::find(std::string_view key) const {
  const JsonObject* object = std::get_if<JsonObject>(&value_);
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object)
    if (name == key) return &value;
  return nullptr;
}

std::string Json::string_or(std::string_view key, std::string_view otherwise) const {
  const Json* found = find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string(otherwise);
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) value_ = JsonObject();
  JsonObject& object = as_object();
  for (auto& [name, old] : object)
    if (name == key) return old = std::move(value);
  return object.emplace_back(std::move(key), std::move(value)).second;
}

void Json::erase(std::string_view key) {
  if (is_object()) std::erase_if(as_object(), [&](const auto& member) { return member.first == key; });
}

void Json::push(Json value) {
  if (is_null()) value_ = JsonArray();
  as_array().push_back(std::move(value));
}

std::string Json::dump(int indent) const {
  Dumper dumper(indent);
  dumper.append(*this, 0);
  return dumper.take();
}

Json parse_json(std::string_view text, const JsonLimits& limits) {
  require(limits.ascii_space_around || text.empty() || !(is_space(text.front()) || is_space(text.back())),
          Errc::kCorrupt, "white space stands around the JSON value");
  Builder builder(text, limits);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace tessera
