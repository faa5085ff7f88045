#include "tessera/io/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/io/ggml_type.h"

namespace tessera {
namespace {

constexpr std::uint64_t kLargestHeader = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 23;
constexpr std::uint64_t kLongestName = 4096;
constexpr std::uint32_t kMostDimensions = 4;
constexpr int kDeepestArray = 4;
// The least a key takes: length of its name, a byte of name, type, a byte of value. A tensor: length, a byte of name,
// number of dimensions, type, offset.
constexpr std::uint64_t kSmallestKey = 8 + 1 + 4 + 1;
constexpr std::uint64_t kSmallestTensor = 8 + 1 + 4 + 4 + 8;

enum ValueType : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
  kValueTypes
};
// The least bytes of one value.
constexpr std::array<std::uint64_t, kValueTypes> kValueBytes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

// Reads forward through a window of the file.
class Cursor final {
 public:
  Cursor(const ReadAt& read, std::uint64_t file_bytes)
      : read_(read), file_bytes_(file_bytes), end_(std::min(file_bytes, kLargestHeader)) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return end_ - at_; }

  void check_room(std::uint64_t bytes, std::string_view what) const {
    if (bytes <= left()) [[likely]]
      return;
    require(end_ == file_bytes_, Errc::kCorrupt, "the header is longer than {} bytes", kLargestHeader);
    fail(Errc::kCorrupt, "{} needs {} bytes at byte {}, and the file ends at {}", what, bytes, at_, file_bytes_);
  }
  void bytes(std::span<std::byte> into, std::string_view what) {
    check_room(into.size(), what);
    while (!into.empty()) {
      if (at_ < window_begin_ || at_ >= window_begin_ + window_.size()) load();
      const std::uint64_t from = at_ - window_begin_;
      const std::size_t size = std::min<std::size_t>(into.size(), window_.size() - from);
      std::memcpy(into.data(), window_.data() + from, size);
      into = into.subspan(size);
      at_ += size;
    }
  }
  template <class T>
  T number(std::string_view what) {
    static_assert(std::endian::native == std::endian::little);
    std::array<std::byte, sizeof(T)> raw{};
    bytes(raw, what);
    return std::bit_cast<T>(raw);
  }
  std::string string(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    check_room(length, what);
    std::string text(length, '\0');
    bytes(std::as_writable_bytes(std::span(text)), what);
    return text;
  }
  std::string name(std::string_view what) {
    std::string text = string(what);
    require(!text.empty() && text.size() <= kLongestName && is_utf8(text), Errc::kCorrupt,
            "{} '{}' of {} bytes is no UTF-8 text of 1 to {} bytes", what, printable(text), text.size(), kLongestName);
    return text;
  }

 private:
  void load() {
    constexpr std::uint64_t kWindow = 64 << 10;
    window_begin_ = at_;
    window_.resize(std::min(kWindow, end_ - at_));
    read_(window_begin_, window_);
  }

  const ReadAt& read_;
  std::uint64_t file_bytes_, end_, at_ = 0, window_begin_ = 0;
  std::vector<std::byte> window_;
};

class Parser final {
 public:
  Parser(const ReadAt& read, std::uint64_t file_bytes) : in_(read, file_bytes), file_bytes_(file_bytes) {}

  GgufHeader parse() {
    read_version();
    const auto tensors = in_.number<std::uint64_t>("the number of tensors");
    const auto keys = in_.number<std::uint64_t>("the number of keys");
    check_count(tensors, kSmallestTensor, "tensors");
    check_count(keys, kSmallestKey, "keys");
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    read_alignment();
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    header_.data_begin = padded(in_.at());
    check_places();
    sort_by_name();
    return std::move(header_);
  }

 private:
  std::uint64_t padded(std::uint64_t bytes) const {
    return (bytes + header_.alignment - 1) / header_.alignment * header_.alignment;
  }
  void check_count(std::uint64_t count, std::uint64_t least_bytes, std::string_view what) const {
    require(count <= in_.left() / least_bytes, Errc::kCorrupt, "the header announces {} {}, and the file has {} bytes",
            count, what, file_bytes_);
  }

  void read_version() {
    std::array<char, 4> magic{};
    in_.bytes(std::as_writable_bytes(std::span(magic)), "the magic");
    require(std::string_view(magic.data(), 4) == "GGUF", Errc::kCorrupt, "the file does not begin with 'GGUF'");
    header_.version = in_.number<std::uint32_t>("the version");
    const std::uint32_t version = header_.version;
    require(version == 0 || (version & 0xFFFF) != 0, Errc::kUnsupported, "the file is big endian (version {:#x})",
            version);
    require(version != 1, Errc::kUnsupported, "version 1 of GGUF had 32-bit counts and is not read");
    require(version == 2 || version == 3, Errc::kCorrupt, "version {} of GGUF is unknown; there are 2 and 3", version);
  }

  void read_key() {
    std::string key = in_.name("the key");
    require(keys_.insert(key).second, Errc::kCorrupt, "the key '{}' stands twice", printable(key));
    try {
      Json value = read_value(in_.number<std::uint32_t>("the value's type"), 0);
      header_.metadata.as_object().emplace_back(std::move(key), std::move(value));
    } catch (const Error& e) {
      fail(e.code(), "key '{}': {}", printable(key), e.message());
    }
  }
  Json read_value(std::uint32_t type, int depth) {
    switch (type) {
      case kUint8:
        return std::uint64_t{in_.number<std::uint8_t>("a value")};
      case kInt8:
        return std::int64_t{in_.number<std::int8_t>("a value")};
      case kUint16:
        return std::uint64_t{in_.number<std::uint16_t>("a value")};
      case kInt16:
        return std::int64_t{in_.number<std::int16_t>("a value")};
      case kUint32:
        return std::uint64_t{in_.number<std::uint32_t>("a value")};
      case kInt32:
        return std::int64_t{in_.number<std::int32_t>("a value")};
      case kUint64:
        return in_.number<std::uint64_t>("a value");
      case kInt64:
        return in_.number<std::int64_t>("a value");
      case kFloat32:
        return double{in_.number<float>("a value")};
      case kFloat64:
        return in_.number<double>("a value");
      case kBool:
        return read_bool();
      case kString:
        return in_.string("a string");
      case kArray:
        return read_array(depth + 1);
      default:
        fail(Errc::kCorrupt, "the value type {} is unknown", type);
    }
  }
  bool read_bool() {
    const auto value = in_.number<std::uint8_t>("a value");
    require(value <= 1, Errc::kCorrupt, "a boolean is stored as {}", value);
    return value == 1;
  }
  Json read_array(int depth) {
    require(depth <= kDeepestArray, Errc::kCorrupt, "arrays are nested more than {} deep", kDeepestArray);
    const auto type = in_.number<std::uint32_t>("an array's type");
    const auto count = in_.number<std::uint64_t>("an array's length");
    require(type < kValueTypes, Errc::kCorrupt, "the value type {} is unknown", type);
    require(count <= in_.left() / kValueBytes[type], Errc::kCorrupt,
            "an array announces {} elements of {} bytes or more, and the file has {} bytes", count, kValueBytes[type],
            file_bytes_);
    elements_ += count;
    require(elements_ <= kMostElements, Errc::kCorrupt, "the arrays have more than {} elements", kMostElements);
    JsonArray array;
    array.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) array.push_back(read_value(type, depth));
    return array;
  }

  void read_alignment() {
    const Json* value = header_.metadata.find("general.alignment");
    if (value == nullptr) return;
    const bool fits = value->is_integer() && value->as_double() > 0 && value->as_double() < 4294967296.0 &&
                      std::has_single_bit(value->as_uint64());
    require(fits, Errc::kCorrupt, "general.alignment is {}, and a power of two is expected", printable(value->dump()));
    header_.alignment = value->as_uint64();
  }

  void read_tensor() {
    StoredTensor tensor;
    tensor.name = in_.name("a tensor's name");
    try {
      read_shape_and_type(tensor);
      tensor.offset = in_.number<std::uint64_t>("its offset");
    } catch (const Error& e) {
      fail_tensor(tensor, e.message());
    }
    header_.tensors.push_back(std::move(tensor));
  }
  void read_shape_and_type(StoredTensor& tensor) {
    const auto dimensions = in_.number<std::uint32_t>("its number of dimensions");
    require(dimensions <= kMostDimensions, Errc::kCorrupt, "it has {} dimensions, more than {}", dimensions,
            kMostDimensions);
    std::int64_t elements = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      const auto size = in_.number<std::int64_t>("its dimensions");
      const bool fits = size >= 0 && !__builtin_mul_overflow(elements, size, &elements);
      tensor.shape.push_back(size);
      require(fits, Errc::kCorrupt, "its dimensions {} are beyond 2^63 elements", fmt::join(tensor.shape, " x "));
    }
    const std::int64_t row = dimensions == 0 ? 1 : tensor.shape[0];
    std::reverse(tensor.shape.begin(), tensor.shape.end());  // stored with the row's length first
    const auto number = in_.number<std::uint32_t>("its type");
    const GgmlType* type = find_ggml_type(number);
    require(type != nullptr, Errc::kCorrupt, "its type {} is unknown", number);
    require(row % type->block == 0, Errc::kCorrupt, "it has rows of {}, and {} has blocks of {}", row, type->name,
            type->block);
    const bool overflows = __builtin_mul_overflow(static_cast<std::uint64_t>(elements / type->block),
                                                  static_cast<std::uint64_t>(type->block_bytes), &tensor.bytes);
    require(!overflows, Errc::kCorrupt, "its {} elements are beyond 2^64 bytes", elements);
    tensor.dtype = type->dtype;
    tensor.type = type->name;
    tensor.ggml_type = type->number;
  }

  void check_places() {
    std::uint64_t expected = 0;  // from data_begin
    for (StoredTensor& tensor : header_.tensors) {
      if (tensor.offset % header_.alignment != 0)
        fail_tensor(tensor,
                    fmt::format("its offset {} is no multiple of the alignment {}", tensor.offset, header_.alignment));
      if (tensor.offset != expected)
        fail_tensor(tensor,
                    fmt::format("its offset is {}, and the tensors before it end at {}", tensor.offset, expected));
      const std::uint64_t begin = header_.data_begin + expected;
      if (begin > file_bytes_ || tensor.bytes > file_bytes_ - begin)  // an empty tensor stands in the file, too
        fail_tensor(tensor, fmt::format("it needs {} bytes from byte {}, and the file ends at {}", tensor.bytes, begin,
                                        file_bytes_));
      tensor.offset = begin;
      expected = padded(expected + tensor.bytes);
    }
  }
  void sort_by_name() {
    auto& tensors = header_.tensors;
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(tensors.begin(), tensors.end(),
                                          [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice != tensors.end()) fail_tensor(*twice, "it stands twice in the file");
  }
  [[noreturn]] static void fail_tensor(const StoredTensor& tensor, std::string_view fault) {
    Error error(Errc::kCorrupt, fmt::format("tensor '{}': {}", printable(tensor.name), fault));
    error.in_tensor(tensor.name);
    throw error;
  }

  Cursor in_;
  std::uint64_t file_bytes_;
  std::uint64_t elements_ = 0;
  std::set<std::string> keys_;
  GgufHeader header_;
};

}  // namespace

GgufHeader parse_gguf_header(const ReadAt& read, std::uint64_t file_bytes) { return Parser(read, file_bytes).parse(); }

GgufHeader read_gguf_header(const File& file) {
  return naming_file(file.path(), [&] {
    return parse_gguf_header([&](std::uint64_t begin, std::span<std::byte> into) { file.read(begin, into); },
                             file.size());
  });
}

}  // namespace tessera
