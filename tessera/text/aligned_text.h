// AlignedText: text that normalizers and pre-tokenizers have changed, which still knows where it came from.
// Every byte has the range of bytes of the original text that it stands for; inserted text has its neighbour's.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ByteRange {
  std::uint32_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

class AlignedText final {
 public:
  AlignedText() = default;
  // `text` as it stands at byte `at` of the original. UTF-8.
  AlignedText(std::string_view text, std::uint32_t at);
  // An empty text that may grow as much as this one may: to 32 times the original and 1024 bytes.
  AlignedText successor() const;

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  ByteRange origin(std::size_t byte) const { return origins_[byte]; }
  // Of the bytes [begin, end), begin < end.
  ByteRange origin(std::size_t begin, std::size_t end) const { return {origins_[begin].begin, origins_[end - 1].end}; }

  // Each throws kCorrupt where the text would outgrow its bound: who wrote the normalizer wants memory, not text.
  void append(std::string_view bytes, ByteRange origin);
  void append(const AlignedText& from, std::size_t begin, std::size_t end);  // with the origins it has there

 private:
  void require_room(std::size_t bytes) const;

  std::string text_;
  std::vector<ByteRange> origins_;
  std::size_t limit_ = 0;
};

// A stretch of an AlignedText, on its way to tokens. id: of the added token that it is; -1: text.
struct Piece {
  std::uint32_t begin = 0, end = 0;
  std::int32_t id = -1;
};
// A stretch within a piece, relative to its beginning.
struct PiecePart {
  std::uint32_t begin = 0, end = 0;
};

struct Pieces {
  AlignedText text;
  std::vector<Piece> pieces;

  std::string_view view(const Piece& piece) const {
    return std::string_view(text.text()).substr(piece.begin, piece.end - piece.begin);
  }

  // Puts in the place of each piece of text the parts that cut(piece text, parts) appends; empty ones vanish.
  template <class Cut>
  void cut(const Cut& cut) {
    std::vector<Piece> cut_pieces;
    cut_pieces.reserve(pieces.size());
    std::vector<PiecePart> parts;
    for (const Piece& piece : pieces) {
      if (piece.id >= 0) {
        cut_pieces.push_back(piece);
        continue;
      }
      parts.clear();
      cut(view(piece), parts);
      for (const PiecePart& part : parts)
        if (part.begin < part.end) cut_pieces.push_back({piece.begin + part.begin, piece.begin + part.end, -1});
    }
    pieces = std::move(cut_pieces);
  }

  // Puts in the place of each piece of text what rewrite(text, piece, into) appends to `into`; empty ones vanish.
  template <class Rewrite>
  void rewrite(const Rewrite& rewrite) {
    AlignedText rewritten = text.successor();
    std::vector<Piece> moved;
    moved.reserve(pieces.size());
    for (const Piece& piece : pieces) {
      const auto begin = static_cast<std::uint32_t>(rewritten.size());
      if (piece.id >= 0) {
        rewritten.append(text, piece.begin, piece.end);
      } else {
        rewrite(text, piece, rewritten);
      }
      const auto end = static_cast<std::uint32_t>(rewritten.size());
      if (begin < end || piece.id >= 0) moved.push_back({begin, end, piece.id});
    }
    text = std::move(rewritten);
    pieces = std::move(moved);
  }
};

}  // namespace tessera
