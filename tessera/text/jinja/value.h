// The values of a template: Python's, as far as templates can tell.
// Values never change (the sandbox of templates allows no change either), so copies share what they hold; a Namespace
// is the exception. Integers have 127 bits and overflow is an error; texts are UTF-8, counted in code points.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/json.h"

namespace tessera::jinja {

__extension__ using Integer = __int128;

class Value;
class Object;
class Machine;
using Values = std::vector<Value>;
using Pairs = std::vector<std::pair<Value, Value>>;

enum class SequenceKind : std::uint8_t { kList, kTuple, kRange, kView, kIterator };

// Of the tuples of groupby, whose elements have the names grouper and list too.
inline constexpr const char* kGroupLabel = "group";

struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  Values items;
  std::string label{};           // of a view, "dict_items"; of a range, how it is printed; kGroupLabel
  int depth = 1;                 // of nested lists and dicts
  mutable bool is_used = false;  // an iterator gives its items once
};

struct Dict {
  Pairs pairs;  // in the order of insertion, keys differ
  int depth = 1;
};

// What is missing, said when it is used: "'nope' is undefined".
struct Undefined {
  std::shared_ptr<const std::string> message;
};

struct Text {
  std::string utf8;
  bool is_markup = false;  // what it is added to gets escaped
};

class Value final {
 public:
  Value() = default;  // None
  Value(bool v) : data_(v) {}
  Value(int v) : data_(Integer{v}) {}
  Value(Integer v) : data_(v) {}
  Value(double v) : data_(v) {}
  Value(const char* v) : Value(std::string(v)) {}
  Value(std::string_view v) : Value(std::string(v)) {}
  Value(std::string v) : data_(std::make_shared<const Text>(Text{std::move(v), false})) {}
  Value(std::shared_ptr<Object> v) : data_(std::move(v)) {}
  static Value of_size(std::size_t v) { return Value(static_cast<Integer>(v)); }
  static Value undefined(std::string message);
  static Value markup(std::string text);
  // Throw kResource when nested more than 100 levels deep.
  static Value list(Values items, SequenceKind kind = SequenceKind::kList, std::string label = "");
  static Value dict(Pairs pairs);  // keys differ
  static Value from_json(const Json& json);

  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<Integer>(data_); }  // no bool
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_bool() || is_integer() || is_float(); }
  bool is_text() const { return std::holds_alternative<std::shared_ptr<const Text>>(data_); }
  bool is_markup() const { return is_text() && std::get<std::shared_ptr<const Text>>(data_)->is_markup; }

  // Null when it is something else.
  const Sequence* sequence() const;
  const Dict* dict() const;
  Object* object() const;

  const std::string& undefined_message() const { return *std::get<Undefined>(data_).message; }
  const std::string& text() const { return std::get<std::shared_ptr<const Text>>(data_)->utf8; }
  std::optional<Integer> integer() const;  // a bool is one too
  std::optional<double> number() const;    // bools, integers and floats
  int depth() const;

  bool is_true() const;
  std::string_view type_name() const;  // "str", "list", "NoneType"

 private:
  std::variant<std::monostate, Undefined, bool, Integer, double, std::shared_ptr<const Text>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      data_;
};

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

// A value with attributes of its own, or that can be called: namespaces, loops, macros, functions, methods.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::optional<Value> attribute(std::string_view name) const;  // none: there is no such attribute
  virtual Value call(Machine& machine, Arguments arguments);            // throws: it cannot be called
  virtual bool can_be_called() const { return false; }
  virtual std::string repr(Machine& machine) const;
};

const Value* find(const Dict& dict, std::string_view key);

}  // namespace tessera::jinja
