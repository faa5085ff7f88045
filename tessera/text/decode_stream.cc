#include "tessera/text/decode_stream.h"

#include <span>

namespace tessera {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string DecodeStream::push(std::int32_t id) {
  if (emitted_.empty() && !ids_.empty()) {
    std::string text = tokenizer_.decode(ids_, special_);
    if (!text.ends_with(kReplacement)) {
      emitted_ = std::move(text);
      emitted_ids_ = ids_.size();
    }
  }
  ids_.push_back(id);
  const std::string text = tokenizer_.decode(ids_, special_);
  if (!text.starts_with(emitted_)) return restart();
  if (text.size() == emitted_.size() || text.ends_with(kReplacement)) return "";
  std::string fresh = text.substr(emitted_.size());
  const std::size_t left = ids_.size() - emitted_ids_;
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(emitted_ids_));
  emitted_ = tokenizer_.decode(ids_, special_);
  emitted_ids_ = left;
  return fresh;
}

// The new ids change what the ones before them mean, whose text is out already: bytes that follow a whole character.
std::string DecodeStream::restart() {
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(emitted_ids_));
  emitted_.clear();
  emitted_ids_ = 0;
  std::string text = tokenizer_.decode(ids_, special_);
  if (text.ends_with(kReplacement)) return "";
  emitted_ = text;
  emitted_ids_ = ids_.size();
  return text;
}

std::string DecodeStream::finish() {
  std::string text = tokenizer_.decode(ids_, special_);
  std::string rest = text.starts_with(emitted_) ? text.substr(emitted_.size())
                                                : tokenizer_.decode(std::span(ids_).subspan(emitted_ids_), special_);
  ids_.clear();
  emitted_.clear();
  emitted_ids_ = 0;
  return rest;
}

}  // namespace tessera
