#include "tessera/infer/stop_text.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"

namespace tessera {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) require(!stop.empty(), Errc::kInvalid, "a stop string is empty");
}

std::string StopText::push(std::string_view text) {
  if (is_stopped_) return {};
  held_ += text;
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  if (end != std::string::npos) {
    is_stopped_ = true;
    held_.resize(end);
    return std::exchange(held_, {});
  }
  std::size_t keep = 0;  // the longest end of the text with which a stop string begins
  for (const std::string& stop : stops_)
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n)
      if (std::string_view(held_).substr(held_.size() - n) == std::string_view(stop).substr(0, n)) keep = n;
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return certain;
}

std::string StopText::finish() { return is_stopped_ ? std::string() : std::exchange(held_, {}); }

}  // namespace tessera
