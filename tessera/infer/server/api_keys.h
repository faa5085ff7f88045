// ApiKeys: who may ask. Keys are compared in a time that does not depend on where they differ.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::server {

class ApiKeys final {
 public:
  ApiKeys() = default;  // everyone may
  // One key a line; empty lines and white space around keys do not count. Throws kInvalid when there is none.
  static ApiKeys parse(std::string_view text);

  bool is_open() const { return keys_.empty(); }
  // `authorization`: the header, "Bearer KEY".
  bool admits(std::string_view authorization) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace tessera::server
