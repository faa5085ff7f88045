// Attrs: the constants of a node, of whatever struct its op keeps them in. The struct's `visit` gives equality,
// printing and the key under which equal nodes are one.
#pragma once
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>

#include "tessera/base/error.h"

namespace tessera::graph {

class Attrs final {
 public:
  Attrs() = default;  // none
  template <class T>
  static Attrs of(T value) {
    Attrs attrs;
    value.visit([&](std::string_view name, const auto& field) {
      attrs.text_ += fmt::format("{}{}={}", attrs.text_.empty() ? "" : " ", name, field);
    });
    attrs.type_ = &typeid(T);
    attrs.value_ = std::make_shared<const T>(std::move(value));
    return attrs;
  }
  template <class T>
  const T& as() const {
    TESSERA_ASSERT(type_ != nullptr && *type_ == typeid(T));
    return *static_cast<const T*>(value_.get());
  }
  const std::string& text() const { return text_; }  // "eps=1e-05 group=64"; floats with all their digits
  bool operator==(const Attrs& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  const std::type_info* type_ = nullptr;
  std::shared_ptr<const void> value_;
};

}  // namespace tessera::graph
