#include "tessera/text/aligned_text.h"

#include "tessera/base/error.h"
#include "tessera/text/unicode.h"

namespace tessera {

AlignedText::AlignedText(std::string_view text, std::uint32_t at) : text_(text), limit_(32 * text.size() + 1024) {
  origins_.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::uint32_t bytes = read_code_point(text, i).bytes;
    const auto begin = at + static_cast<std::uint32_t>(i);
    for (std::uint32_t k = 0; k < bytes; ++k) origins_.push_back({begin, begin + bytes});
    i += bytes;
  }
}

AlignedText AlignedText::successor() const {
  AlignedText next;
  next.limit_ = limit_;
  next.text_.reserve(text_.size() + 16);
  next.origins_.reserve(text_.size() + 16);
  return next;
}

void AlignedText::require_room(std::size_t bytes) const {
  require(bytes <= limit_ - text_.size(), Errc::kCorrupt,
          "the tokenizer's normalizers make more than {} bytes of a text; 32 times its size is the bound", limit_);
}

void AlignedText::append(std::string_view bytes, ByteRange origin) {
  require_room(bytes.size());
  text_ += bytes;
  origins_.insert(origins_.end(), bytes.size(), origin);
}

void AlignedText::append(const AlignedText& from, std::size_t begin, std::size_t end) {
  require_room(end - begin);
  text_.append(from.text_, begin, end - begin);
  const auto first = from.origins_.begin();
  origins_.insert(origins_.end(), first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
}

}  // namespace tessera
