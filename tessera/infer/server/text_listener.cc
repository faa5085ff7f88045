#include "tessera/infer/server/text_listener.h"

#include "tessera/base/log.h"
#include "tessera/infer/server/characters.h"

namespace tessera::server {

TextListener::TextListener(const TokenText& tokens, std::shared_ptr<TextQueue> queue, ListenerOptions options)
    : tokens_(tokens),
      queue_(std::move(queue)),
      options_(std::move(options)),
      stream_(tokens.tokenizer()),
      stop_(options_.stops) {
  event_.choice = options_.choice;
}

ToldToken TextListener::told(const BatchToken& token) const {
  ToldToken told{.bytes = tokens_.bytes(token.id), .logprob = token.logprob, .offset = characters_};
  for (const auto& [id, logprob] : token.top) told.top.emplace_back(tokens_.bytes(id), logprob);
  return told;
}

void TextListener::on_prompt_token(const BatchToken& token) {
  if (options_.tells_tokens) event_.prompt.push_back(told(token));
}

bool TextListener::on_token(const BatchToken& token) {
  ++written_;
  if (options_.tells_tokens && !tokens_.tokenizer().is_special(token.id)) pending_.push_back({told(token), decoded_});
  const std::string piece = stream_.push(token.id);
  decoded_ += piece.size();
  characters_ += count_characters(piece);
  give(stop_.push(piece));
  if (!event_.text.empty() || !event_.tokens.empty()) send(std::nullopt);
  return !stop_.is_stopped();
}

// Tokens go with the text in which they begin: those of a stop string go with none.
void TextListener::give(std::string text) {
  given_ += text.size();
  event_.text += text;
  while (!pending_.empty() && pending_.front().begin < given_) {
    event_.tokens.push_back(std::move(pending_.front().token));
    pending_.pop_front();
  }
}

void TextListener::on_end(BatchEnd how, const Error* error) {
  if (!stop_.is_stopped()) {
    give(stop_.push(stream_.finish()));
    give(stop_.finish());
  }
  TextEnd end{.reason = "stop", .tokens = written_ + (how == BatchEnd::kEnd ? 1 : 0)};
  if (how == BatchEnd::kLength && !stop_.is_stopped()) end.reason = "length";
  if (how == BatchEnd::kCancelled || how == BatchEnd::kFailed) {
    end.reason.clear();
    end.error = error != nullptr ? error->message() : "the request was cancelled";
    if (error != nullptr) log_message(LogLevel::kError, "a request failed: {}", error->what());
  }
  send(std::move(end));
}

void TextListener::send(std::optional<TextEnd> end) {
  event_.end = std::move(end);
  queue_->push(std::exchange(event_, {.choice = options_.choice}));
}

}  // namespace tessera::server
