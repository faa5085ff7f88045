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
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return !events_.empty(); })) {
    lock.unlock();
    if (is_gone()) return std::nullopt;
    lock.lock();
  }
  TextEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace tessera::server
