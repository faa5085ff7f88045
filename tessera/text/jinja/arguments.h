// Bound arguments: those of a call by the names of the parameters.
#pragma once
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/text/jinja/value.h"

namespace tessera::jinja {

class Bound final {
 public:
  // Throws kInvalid for more arguments than names, or another name.
  Bound(std::string_view function, Arguments arguments, std::initializer_list<std::string_view> names);

  bool has(std::size_t i) const { return given_[i]; }
  const Value& required(std::size_t i) const;  // throws kInvalid when it is absent
  Value value(std::size_t i, const Value& otherwise = {}) const { return given_[i] ? values_[i] : otherwise; }
  bool flag(std::size_t i, bool otherwise) const { return given_[i] ? values_[i].is_true() : otherwise; }
  std::string text(std::size_t i, std::string_view otherwise) const;  // throws for what is no text
  std::string required_text(std::size_t i) const;
  Integer integer(std::size_t i, Integer otherwise) const;
  std::size_t count(std::size_t i, std::size_t otherwise) const;  // negative ones are 0

 private:
  [[noreturn]] void fail_type(std::size_t i, std::string_view wanted) const;
  std::string_view function_;
  std::vector<std::string_view> names_;
  Values values_;
  std::vector<bool> given_;
};

}  // namespace tessera::jinja
