#include "tessera/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::size_t kMostTensors = 1'000'000;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostDimensions = 16;
constexpr std::uint64_t kLargestDimension = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kMetadata = "__metadata__";

[[noreturn]] void fail_tensor(const std::string& tensor, std::string_view fault) {
  Error error(Errc::kCorrupt, fmt::format("tensor '{}' {}", printable(tensor), fault));
  error.in_tensor(tensor);
  throw error;
}

// The one grammar a header has; JSON beyond it is refused by what stands there. The text is UTF-8.
class HeaderParser final {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  SafetensorsHeader parse() {
    skip_space();
    expect('{', "the header is no JSON object");
    each_member([&] {
      std::string key = read_string("a tensor's name");
      expect_colon();
      if (key == kMetadata) {
        require(!std::exchange(has_metadata_, true), Errc::kCorrupt, "the header has __metadata__ twice");
        read_metadata();
      } else {
        require(header_.tensors.size() < kMostTensors, Errc::kCorrupt, "the header has more than {} tensors",
                kMostTensors);
        read_tensor(std::move(key));
      }
    });
    skip_space();
    require(at_ == text_.size(), Errc::kCorrupt, "the header has {} bytes after its object", text_.size() - at_);
    return std::move(header_);
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool is_plain(char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  [[noreturn]] void fail_here(std::string_view wanted) const {
    if (at_ >= text_.size()) fail(Errc::kCorrupt, "the header ends where {} is expected", wanted);
    fail(Errc::kCorrupt, "byte {} of the header is '{}' where {} is expected", at_, printable(text_.substr(at_, 1)),
         wanted);
  }
  void expect(char c, std::string_view otherwise) {
    require(peek() == c && at_ < text_.size(), Errc::kCorrupt, "{}", otherwise);
    ++at_;
  }
  void expect_colon() {
    skip_space();
    if (peek() != ':') fail_here("':'");
    ++at_;
    skip_space();
  }

  // After '{' or '[': calls `read` for each member up to the closing character.
  template <class Read>
  void each(char closing, std::string_view wanted, const Read& read) {
    skip_space();
    if (peek() == closing) {
      ++at_;
      return;
    }
    for (;;) {
      skip_space();
      read();
      skip_space();
      const char next = peek();
      if (next != ',' && next != closing) fail_here(wanted);
      ++at_;
      if (next == closing) return;
    }
  }
  template <class Read>
  void each_member(const Read& read) {
    each('}', "',' or '}'", read);
  }

  std::string read_string(std::string_view what) {
    if (peek() != '"') fail_here(what);
    ++at_;
    std::string value;
    for (;;) {
      std::size_t end = at_;
      while (end < text_.size() && is_plain(text_[end])) ++end;
      const std::string_view plain = text_.substr(at_, end - at_);
      require(end < text_.size(), Errc::kCorrupt, "the header ends inside a string");
      require(text_[end] == '"' || text_[end] == '\\', Errc::kCorrupt,
              "a string of the header has a control character");
      value += plain;
      at_ = end + 1;
      if (text_[end] == '"') return value;
      read_escape(value);
    }
  }
  void read_escape(std::string& value) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    if (const std::size_t i = kLetters.find(letter); i != std::string_view::npos) {
      value += kMeanings[i];
      ++at_;
      return;
    }
    if (letter != 'u') fail_here("an escape of JSON");
    ++at_;
    std::uint32_t unit = read_hex4();
    if (unit >= 0xD800 && unit < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const std::uint32_t low = read_hex4();
      require(low >= 0xDC00 && low < 0xE000, Errc::kCorrupt, "a string of the header has half a surrogate pair");
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    require(unit != 0, Errc::kCorrupt, "a string of the header has a zero character");
    require(unit < 0xD800 || unit >= 0xE000, Errc::kCorrupt, "a string of the header has half a surrogate pair");
    append_utf8(value, static_cast<char32_t>(unit));
  }
  std::uint32_t read_hex4() {
    std::uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
      if (at_ >= text_.size() || digit == std::string_view::npos) fail_here("a hexadecimal digit");
      unit = unit * 16 + static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    return unit;
  }

  std::uint64_t read_unsigned(const std::string& tensor, std::string_view what) {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(peek() - '0');
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
      if (value > (kMost - digit) / 10) fail_tensor(tensor, fmt::format("has {} beyond 64 bits", what));
      value = value * 10 + digit;
    }
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const bool whole = !digits.empty() && (digits == "0" || digits[0] != '0') &&
                       std::string_view(".eE").find(peek()) == std::string_view::npos;
    if (!whole) fail_tensor(tensor, fmt::format("has {} that is no whole number, zero or more", what));
    return value;
  }

  void read_metadata() {
    expect('{', "__metadata__ is no JSON object");
    each_member([&] {
      std::string key = read_string("a metadata key");
      expect_colon();
      if (peek() != '"') fail(Errc::kCorrupt, "the metadata '{}' is no string", printable(key));
      std::string value = read_string("a string");
      const auto [place, is_new] = header_.metadata.emplace(std::move(key), std::move(value));
      require(is_new, Errc::kCorrupt, "the metadata key '{}' stands twice", printable(place->first));
    });
  }

  void read_tensor(std::string name) {
    if (name.size() > kLongestName)
      fail(Errc::kCorrupt, "the name '{}' has {} bytes, more than {}", printable(name), name.size(), kLongestName);
    StoredTensor tensor;
    tensor.name = std::move(name);
    if (peek() != '{') fail_tensor(tensor.name, "is described by no JSON object");
    ++at_;
    std::optional<std::uint64_t> begin, end;
    bool has_dtype = false, has_shape = false;
    each_member([&] {
      const std::string field = read_string("a field's name");
      expect_colon();
      const auto once = [&](bool seen) {
        if (seen) fail_tensor(tensor.name, fmt::format("has the field '{}' twice", field));
      };
      if (field == "dtype") {
        once(std::exchange(has_dtype, true));
        read_dtype(tensor);
      } else if (field == "shape") {
        once(std::exchange(has_shape, true));
        read_shape(tensor);
      } else if (field == "data_offsets") {
        once(begin.has_value());
        std::tie(begin, end) = read_offsets(tensor.name);
      } else {
        fail_tensor(tensor.name, fmt::format("has an unknown field '{}'", printable(field)));
      }
    });
    if (!has_dtype) fail_tensor(tensor.name, "has no dtype");
    if (!has_shape) fail_tensor(tensor.name, "has no shape");
    if (!begin) fail_tensor(tensor.name, "has no data_offsets");
    if (*end < *begin) fail_tensor(tensor.name, fmt::format("ends at {}, before it begins at {}", *end, *begin));
    check_bytes(tensor, *end - *begin);
    tensor.offset = *begin;
    header_.tensors.push_back(std::move(tensor));
  }
  void read_dtype(StoredTensor& tensor) {
    if (peek() != '"') fail_tensor(tensor.name, "has a dtype that is no string");
    tensor.type = read_string("a dtype");
    const std::optional<DType> dtype = find_dtype(tensor.type);
    if (!dtype) fail_tensor(tensor.name, fmt::format("has the unknown dtype '{}'", printable(tensor.type)));
    tensor.dtype = *dtype;
  }
  void read_shape(StoredTensor& tensor) {
    if (peek() != '[') fail_tensor(tensor.name, "has a shape that is no list");
    ++at_;
    each(']', "',' or ']'", [&] {
      const std::uint64_t size = read_unsigned(tensor.name, "a dimension");
      if (size > kLargestDimension) fail_tensor(tensor.name, fmt::format("has a dimension of {}", size));
      if (tensor.shape.size() == kMostDimensions)
        fail_tensor(tensor.name, fmt::format("has more than {} dimensions", kMostDimensions));
      tensor.shape.push_back(static_cast<std::int64_t>(size));
    });
  }
  std::pair<std::uint64_t, std::uint64_t> read_offsets(const std::string& tensor) {
    if (peek() != '[') fail_tensor(tensor, "has data_offsets that are no list");
    ++at_;
    std::uint64_t offsets[2]{};
    std::size_t count = 0;
    each(']', "',' or ']'", [&] {
      if (count == 2) fail_tensor(tensor, "has more than two data_offsets");
      offsets[count++] = read_unsigned(tensor, "an offset");
    });
    if (count != 2) fail_tensor(tensor, "has fewer than two data_offsets");
    return {offsets[0], offsets[1]};
  }
  static void check_bytes(StoredTensor& tensor, std::uint64_t stored) {
    try {
      tensor.bytes = stored_bytes(tensor.dtype, tensor.shape);
    } catch (const Error& e) {
      fail_tensor(tensor.name, e.message());
    }
    if (tensor.bytes != stored)
      fail_tensor(tensor.name, fmt::format("({} {}) needs {} bytes and its data_offsets span {}", tensor.type,
                                           fmt::format("[{}]", fmt::join(tensor.shape, ", ")), tensor.bytes, stored));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SafetensorsHeader header_;
  bool has_metadata_ = false;
};

// Offsets still count from the beginning of the data, which has `data_bytes`.
void check_tiling(const std::vector<StoredTensor>& tensors, std::uint64_t data_bytes) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  // An empty tensor stands before the one that begins at the same byte.
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tensors[a].offset, tensors[a].bytes) < std::pair(tensors[b].offset, tensors[b].bytes);
  });
  std::uint64_t end = 0;
  const StoredTensor* before = nullptr;
  for (const std::uint32_t i : order) {
    const StoredTensor& tensor = tensors[i];
    if (tensor.offset < end)
      fail_tensor(tensor.name, fmt::format("begins at byte {} of the data, inside tensor '{}', which ends at {}",
                                           tensor.offset, printable(before->name), end));
    if (tensor.offset > end)
      fail_tensor(tensor.name, fmt::format("begins at byte {} of the data, and bytes [{}, {}) belong to no tensor",
                                           tensor.offset, end, tensor.offset));
    end += tensor.bytes;
    before = &tensor;
  }
  require(end <= data_bytes, Errc::kCorrupt, "the data has {} bytes and the header describes {}: the file is cut short",
          data_bytes, end);
  require(end == data_bytes, Errc::kCorrupt, "the file has {} bytes after its last tensor", data_bytes - end);
}

void sort_by_name(std::vector<StoredTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice != tensors.end()) fail_tensor(twice->name, "stands twice in the header");
}

}  // namespace

std::uint64_t stored_bytes(DType dtype, std::span<const std::int64_t> shape) {
  std::uint64_t bits = 1;
  const auto multiply = [&](std::uint64_t by) {
    const bool overflows = __builtin_mul_overflow(bits, by, &bits);
    require(!overflows, Errc::kCorrupt, "has the shape [{}], which is beyond 2^64 bits", fmt::join(shape, ", "));
  };
  for (const std::int64_t size : shape) multiply(static_cast<std::uint64_t>(size));
  multiply(static_cast<std::uint64_t>(dtype_bits(dtype)));
  require(bits % 8 == 0, Errc::kCorrupt, "has {} bits, which is no whole number of bytes", bits);
  const bool half_byte = dtype == DType::kF4 && !shape.empty() && shape.back() % 2 != 0;
  require(!half_byte, Errc::kCorrupt, "has rows of {} F4 values, which end inside a byte",
          shape.empty() ? 1 : shape.back());
  return bits / 8;
}

std::uint64_t read_header_length(std::span<const std::byte> first, std::uint64_t file_bytes) {
  require(file_bytes >= 8 && first.size() >= 8, Errc::kCorrupt,
          "the file has {} bytes, and a safetensors file at least 8", file_bytes);
  std::uint64_t length = 0;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&length, first.data(), sizeof length);
  require(length <= kLargestSafetensorsHeader, Errc::kCorrupt,
          "the header's length is given as {} bytes, beyond the limit of {}", length, kLargestSafetensorsHeader);
  require(length <= file_bytes - 8, Errc::kCorrupt,
          "the header's length is given as {} bytes, and the file has {} after that number", length, file_bytes - 8);
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_bytes) {
  TESSERA_ASSERT(file_bytes >= 8 + json.size());
  const std::size_t valid = valid_utf8_prefix(json);
  require(valid == json.size(), Errc::kCorrupt, "the header is not UTF-8 at its byte {}", valid);
  SafetensorsHeader header = HeaderParser(json).parse();
  header.data_begin = 8 + json.size();
  sort_by_name(header.tensors);
  check_tiling(header.tensors, file_bytes - header.data_begin);
  for (StoredTensor& tensor : header.tensors) tensor.offset += header.data_begin;
  return header;
}

SafetensorsHeader read_safetensors_header(const File& file) {
  return naming_file(file.path(), [&] {
    const std::uint64_t file_bytes = file.size();
    std::byte first[8]{};
    const std::size_t got = file.read_up_to(0, first);
    std::string json(read_header_length(std::span(first, got), file_bytes), '\0');
    file.read(8, std::as_writable_bytes(std::span(json)));
    return parse_safetensors_header(json, file_bytes);
  });
}

}  // namespace tessera
