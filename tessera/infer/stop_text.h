// StopText: gives generated text on as soon as it is certain that no stop string begins in it, and ends at the first
// stop string, which is left out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class StopText final {
 public:
  // Throws kInvalid for an empty stop string.
  explicit StopText(std::vector<std::string> stops);

  std::string push(std::string_view text);  // what is certain now
  std::string finish();                     // what was held back; nothing follows
  bool is_stopped() const { return is_stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace tessera
