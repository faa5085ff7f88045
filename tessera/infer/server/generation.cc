#include "tessera/infer/server/generation.h"

#include "tessera/infer/server/api_error.h"

namespace tessera::server {

Generation::Generation(Batcher& batcher, Metrics& metrics, const TokenText& tokens, std::vector<Text> texts)
    : batcher_(batcher), metrics_(metrics), left_(texts.size()) {
  try {
    for (Text& text : texts)
      tickets_.push_back(batcher.submit(std::move(text.request),
                                        std::make_shared<TextListener>(tokens, queue_, std::move(text.listening))));
  } catch (const Error& e) {
    cancel();
    if (e.code() == Errc::kResource) throw queue_full(batcher.limits().queued);
    if (e.code() == Errc::kPeer) throw shutting_down();
    refuse("invalid_value", "", "{}", e.message());
  }
}

Generation::~Generation() {
  if (left_ == 0 || is_cancelled_) return;
  metrics_.count_cancelled();
  cancel();
}

void Generation::cancel() {
  is_cancelled_ = true;
  for (const std::uint64_t ticket : tickets_) batcher_.cancel(ticket);
}

std::optional<TextEvent> Generation::next(const std::function<bool()>& is_gone) {
  std::optional<TextEvent> event = queue_->pop(is_gone);
  if (!event) return event;
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (!std::exchange(has_text_, true)) metrics_.add_first_token(seconds);
  if (event->end && --left_ == 0) metrics_.add_answer(seconds);
  return event;
}

}  // namespace tessera::server
