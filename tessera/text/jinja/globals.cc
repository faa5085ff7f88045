#include <ctime>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/arguments.h"
#include "tessera/text/jinja/objects.h"
#include "tessera/text/jinja/operators.h"
#include "tessera/text/jinja/print.h"

namespace tessera::jinja {
namespace {

constexpr Integer kMaxRange = 100'000;  // as jinja2's sandbox

// cycler('a', 'b'): next(), current, reset().
class Cycler final : public Object {
 public:
  explicit Cycler(Values items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(std::string_view name) const override {
    if (name == "current") return items_[at_];
    const auto method = [&](const auto& body) {
      return Value(std::static_pointer_cast<Object>(std::make_shared<Function>("method", body)));
    };
    const auto self = std::static_pointer_cast<Cycler>(std::const_pointer_cast<Object>(shared_from_this()));
    if (name == "next")
      return method([self](Machine&, const Arguments&) {
        Value value = self->items_[self->at_];
        self->at_ = (self->at_ + 1) % self->items_.size();
        return value;
      });
    if (name == "reset")
      return method([self](Machine&, const Arguments&) {
        self->at_ = 0;
        return Value();
      });
    return std::nullopt;
  }

 private:
  Values items_;
  std::size_t at_ = 0;
};

Value make_range(Machine& machine, Arguments arguments) {
  require(arguments.named.empty() && !arguments.positional.empty() && arguments.positional.size() <= 3, Errc::kInvalid,
          "range expects 1 to 3 integers");
  for (const Value& v : arguments.positional) {
    if (v.is_undefined()) fail_undefined(v);
    require(v.integer().has_value(), Errc::kInvalid, "'{}' object cannot be interpreted as an integer", v.type_name());
  }
  const auto at = [&](std::size_t i) { return *arguments.positional[i].integer(); };
  const bool has_start = arguments.positional.size() > 1;
  const Integer start = has_start ? at(0) : 0, stop = has_start ? at(1) : at(0);
  const Integer step = arguments.positional.size() > 2 ? at(2) : 1;
  require(step != 0, Errc::kInvalid, "range() arg 3 must not be zero");
  constexpr Integer kMost = Integer{1} << 100;
  require(start > -kMost && start < kMost && stop > -kMost && stop < kMost && step > -kMost && step < kMost,
          Errc::kInvalid, "range of integers that are too large");
  const Integer distance = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
  const Integer count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  require(count <= kMaxRange, Errc::kInvalid, "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
          decimal_of(kMaxRange));
  machine.budget().make(static_cast<std::uint64_t>(count) * sizeof(Value));
  Values items;
  for (Integer i = 0; i < count; ++i) items.emplace_back(start + i * step);
  std::string label = "range(" + decimal_of(start) + ", " + decimal_of(stop);
  if (step != 1) label += ", " + decimal_of(step);
  return Value::list(std::move(items), SequenceKind::kRange, label + ")");
}

// Pairs of dict(...) and namespace(...): a dict or pairs, then named ones.
Pairs pairs_of(Machine& machine, Arguments arguments) {
  require(arguments.positional.size() <= 1, Errc::kInvalid, "at most 1 positional argument is expected, {} are given",
          arguments.positional.size());
  Pairs pairs;
  const auto add = [&](const Value& key, Value value) {
    require_hashable(key);
    for (auto& [k, v] : pairs) {
      if (are_equal(machine.budget(), k, key)) {
        v = std::move(value);
        return;
      }
    }
    pairs.emplace_back(key, std::move(value));
  };
  if (!arguments.positional.empty()) {
    if (const Dict* dict = arguments.positional[0].dict()) {
      pairs = dict->pairs;
    } else {
      for (const Value& pair : machine.items_of(arguments.positional[0])) {
        const Values items = machine.items_of(pair);
        require(items.size() == 2, Errc::kInvalid, "a pair of a dict has {} elements", items.size());
        add(items[0], items[1]);
      }
    }
  }
  for (auto& [name, value] : arguments.named) add(Value(name), std::move(value));
  return pairs;
}

Value make_namespace(Machine& machine, Arguments arguments) {
  auto fields = std::make_shared<Scope>();
  machine.keep(fields);
  for (auto& [key, value] : pairs_of(machine, std::move(arguments))) fields->set(machine.text_of(key), value);
  return Value(std::static_pointer_cast<Object>(std::make_shared<Namespace>(std::move(fields))));
}

Value make_joiner(Machine& machine, Arguments arguments) {
  const std::string separator = Bound("joiner", std::move(arguments), {"sep"}).text(0, ", ");
  machine.budget().make(sizeof(Function));
  return Value(std::static_pointer_cast<Object>(
      std::make_shared<Function>("Joiner", [separator, used = false](Machine&, const Arguments&) mutable {
        return Value(std::exchange(used, true) ? separator : std::string());
      })));
}

Value strftime_now(Machine& machine, Arguments arguments) {
  const std::string format = Bound("strftime_now", std::move(arguments), {"format"}).required_text(0);
  require(format.size() <= 4096, Errc::kInvalid, "a format of {} bytes for strftime_now", format.size());
  if (format.empty()) return "";
  std::string text(64 * format.size() + 64, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &machine.now()));
  return replace_invalid_utf8(text);
}

}  // namespace

void add_globals(Scope& scope) {
  const auto add = [&](std::string_view name, Function::Body body) {
    scope.set(name, Value(std::static_pointer_cast<Object>(std::make_shared<Function>("function", std::move(body)))));
  };
  add("range", make_range);
  add("dict", [](Machine& m, Arguments arguments) { return Value::dict(pairs_of(m, std::move(arguments))); });
  add("namespace", make_namespace);
  add("cycler", [](Machine&, Arguments arguments) {
    require(!arguments.positional.empty(), Errc::kInvalid, "at least one item has to be provided");
    return Value(std::static_pointer_cast<Object>(std::make_shared<Cycler>(std::move(arguments.positional))));
  });
  add("joiner", make_joiner);
  add("raise_exception", [](Machine& m, Arguments arguments) -> Value {
    fail(Errc::kInvalid, "{}", m.text_of(Bound("raise_exception", std::move(arguments), {"message"}).required(0)));
  });
  add("strftime_now", strftime_now);
}

}  // namespace tessera::jinja
