#include "tessera/infer/server/text_queue.h"

#include <chrono>

namespace tessera::server {

void TextQueue::push(TextEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  changed_.notify_one();
}

std::optional<TextEvent> TextQueue::pop(const std::function<bool()>& is_gone) {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  while (true) {
    // Also where events come faster than that: nobody may be reading them.
    if (const auto now = std::chrono::steady_clock::now(); now >= next_question_) {
      next_question_ = now + kInterval;
      lock.unlock();
      if (is_gone()) return std::nullopt;
      lock.lock();
    }
    if (changed_.wait_until(lock, next_question_, [this] { return !events_.empty(); })) break;
  }
  TextEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace tessera::server
