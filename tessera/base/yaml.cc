#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::size_t kDepth = 64;
constexpr std::uint64_t kExpandedValues = std::uint64_t{1} << 20;
constexpr std::uint64_t kExpandedBytes = std::uint64_t{64} << 20;
constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

bool only(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789";

std::string_view without_sign(std::string_view text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+') ? text.substr(1) : text;
}

// [-+]? ( . digits | digits ( . digits? )? ) ( [eE] [-+]? digits )?
bool is_float(std::string_view text) {
  text = without_sign(text);
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    if (!only(without_sign(text.substr(e + 1)), kDigits)) return false;
    text = text.substr(0, e);
  }
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return only(text, kDigits);
  const std::string_view whole = text.substr(0, dot), fraction = text.substr(dot + 1);
  return (only(whole, kDigits) && (fraction.empty() || only(fraction, kDigits))) ||
         (whole.empty() && only(fraction, kDigits));
}

std::optional<Json> read_float(std::string_view text) {
  const std::string_view magnitude = without_sign(text);
  const double sign = text[0] == '-' ? -1 : 1;
  if (magnitude == ".inf" || magnitude == ".Inf" || magnitude == ".INF")
    return Json(sign * std::numeric_limits<double>::infinity());
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return Json(std::numeric_limits<double>::quiet_NaN());
  if (!is_float(text)) return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), value);
  require(result.ec == std::errc(), Errc::kInvalid, "the number {} is beyond what a double holds", text);
  return Json(sign * value);
}

std::optional<Json> read_integer(std::string_view text) {
  int base = 10;
  std::string_view digits = without_sign(text);
  if (text.starts_with("0o") && only(text.substr(2), "01234567")) {
    base = 8, digits = text.substr(2);
  } else if (text.starts_with("0x") && only(text.substr(2), "0123456789abcdefABCDEF")) {
    base = 16, digits = text.substr(2);
  } else if (!only(digits, kDigits)) {
    return std::nullopt;
  }
  std::uint64_t magnitude = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  const bool negative = text[0] == '-';
  constexpr std::uint64_t kLowest = std::uint64_t{1} << 63;
  require(result.ec == std::errc() && (!negative || magnitude <= kLowest), Errc::kInvalid,
          "the integer {} is beyond 64 bits", text);
  if (!negative) return Json(magnitude);
  return Json(static_cast<std::int64_t>(std::uint64_t{0} - magnitude));
}

std::optional<Json> read_null_or_bool(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Json();
  if (text == "true" || text == "True" || text == "TRUE") return Json(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json(false);
  return std::nullopt;
}

Json read_plain(const std::string& text) {
  if (auto value = read_null_or_bool(text)) return *value;
  if (auto value = read_integer(text)) return *value;
  if (auto value = read_float(text)) return *value;
  return Json(text);
}

// `tag` is "?" for a plain scalar, "!" for a quoted one.
Json read_scalar(const std::string& tag, const std::string& text) {
  if (tag.empty() || tag == "?") return read_plain(text);
  if (tag == "!" || tag == std::string(kCoreTag) + "str") return Json(text);
  require(tag.starts_with(kCoreTag), Errc::kInvalid, "the tag {} is not one of YAML's core tags", printable(tag));
  const std::string_view kind = std::string_view(tag).substr(kCoreTag.size());
  Json value = read_plain(text);
  if (kind == "float" && value.is_integer()) value = Json(value.as_double());
  const bool fits = (kind == "null" && value.is_null()) || (kind == "bool" && value.is_bool()) ||
                    (kind == "int" && value.is_integer()) || (kind == "float" && value.is_number());
  require(fits, Errc::kInvalid, "'{}' is no {}", printable(text), printable(kind));
  return value;
}

struct Weight {
  std::uint64_t values = 1, bytes = 0;
  std::size_t depth = 0;  // levels of lists and maps
};
Weight weigh(const Json& value) {
  Weight sum;
  const auto add = [&](const Json& inner) {
    const Weight w = weigh(inner);
    sum.values += w.values;
    sum.bytes += w.bytes;
    sum.depth = std::max(sum.depth, w.depth + 1);
  };
  if (value.is_string()) sum.bytes += value.as_string().size();
  if (value.is_array())
    for (const Json& item : value.as_array()) add(item);
  if (value.is_object())
    for (const auto& [key, item] : value.as_object()) sum.bytes += key.size(), add(item);
  return sum;
}

class Builder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, Json(), ""); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    line_ = mark.line;
    add(mark, anchor, read_scalar(tag, text), text);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    line_ = mark.line;
    const auto found = anchors_.find(anchor);
    require(found != anchors_.end(), Errc::kInvalid, "an alias stands inside what it names");
    const Weight weight = weigh(found->second);
    expanded_.values += weight.values;
    expanded_.bytes += weight.bytes;
    require(expanded_.values <= kExpandedValues && expanded_.bytes <= kExpandedBytes, Errc::kInvalid,
            "the aliases expand to more than {} values or {} bytes", kExpandedValues, kExpandedBytes);
    require(stack_.size() + weight.depth < kDepth, Errc::kInvalid, "YAML is nested more than {} levels deep", kDepth);
    require(stack_.empty() || !expects_key(), Errc::kInvalid, "an alias is used as a key");
    add(mark, YAML::NullAnchor, found->second, "");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", anchor, Json(JsonArray()));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", anchor, Json(JsonObject()));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  int line() const { return line_ + 1; }
  Json take() { return std::move(root_); }

 private:
  struct Frame {
    Json value;
    YAML::anchor_t anchor;
    std::optional<std::string> key;
    std::map<std::string, int, std::less<>> lines;  // key -> the line where it stands
  };

  bool expects_key() const { return stack_.back().value.is_object() && !stack_.back().key; }

  // `text`: the scalar as written, which is what a key is.
  void add(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, const std::string& text) {
    line_ = mark.line;
    if (!stack_.empty() && expects_key()) {
      const auto [first, is_new] = stack_.back().lines.emplace(text, line());
      require(is_new, Errc::kInvalid, "the key '{}' stands here and on line {}", printable(text), first->second);
      stack_.back().key = text;
      return;
    }
    place(anchor, std::move(value));
  }
  void place(YAML::anchor_t anchor, Json value) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = value;
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (Frame& top = stack_.back(); top.value.is_array()) {
      top.value.push(std::move(value));
    } else {
      top.value.as_object().emplace_back(std::move(*top.key), std::move(value));
      top.key.reset();
    }
  }
  void open(const YAML::Mark& mark, const std::string& tag, std::string_view kind, YAML::anchor_t anchor, Json value) {
    line_ = mark.line;
    const bool known = tag.empty() || tag == "?" || tag == "!" || tag == std::string(kCoreTag).append(kind);
    require(known, Errc::kInvalid, "the tag {} is not one of YAML's core tags", printable(tag));
    require(stack_.empty() || !expects_key(), Errc::kInvalid, "a list or map is used as a key");
    require(stack_.size() < kDepth, Errc::kInvalid, "YAML is nested more than {} levels deep", kDepth);
    stack_.push_back({std::move(value), anchor, std::nullopt, {}});
  }
  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    place(frame.anchor, std::move(frame.value));
  }

  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Json> anchors_;
  Weight expanded_{0, 0, 0};
  Json root_;
  int line_ = 0;
};

}  // namespace

Json parse_yaml(std::string_view text) {
  const std::size_t valid = valid_utf8_prefix(text);
  require(valid == text.size(), Errc::kInvalid, "the YAML text is not UTF-8 at byte {}", valid);
  require(text.find('\0') == std::string_view::npos, Errc::kInvalid, "the YAML text has a zero byte");
  Builder builder, second;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    require(!parser.HandleNextDocument(second), Errc::kInvalid, "a second document begins, and one is expected");
  } catch (const YAML::Exception& e) {
    fail(Errc::kInvalid, "line {}: malformed YAML: {}", e.mark.line + 1, printable(e.msg));
  } catch (const Error& e) {
    fail(e.code(), "line {}: {}", builder.line(), e.message());
  }
  return builder.take();
}

}  // namespace tessera
