// TextQueue: what happens to the texts of a request, from the batcher's thread to the one that answers.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "tessera/infer/server/text_event.h"

namespace tessera::server {

class TextQueue final {
 public:
  void push(TextEvent event);
  // Waits for the next one. None: is_gone(), which is asked ten times a second, says so. One thread pops.
  std::optional<TextEvent> pop(const std::function<bool()>& is_gone);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TextEvent> events_;
  std::chrono::steady_clock::time_point next_question_ = std::chrono::steady_clock::now();  // of whoever pops
};

}  // namespace tessera::server
