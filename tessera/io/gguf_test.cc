#include "tessera/io/gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tessera/base/error.h"

namespace tessera {
namespace {

// Writes a GGUF file byte by byte.
class Bytes final {
 public:
  template <class T>
  Bytes& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& put_string(const std::string& text) {
    put(std::uint64_t{text.size()});
    text_ += text;
    return *this;
  }
  Bytes& key(const std::string& name, std::uint32_t type) { return put_string(name).put(type); }
  Bytes& tensor(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                std::uint64_t offset) {
    put_string(name).put(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) put(size);
    return put(type).put(offset);
  }
  Bytes& data(std::size_t bytes) {
    text_.resize((text_.size() + 31) / 32 * 32 + bytes);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Bytes file(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  Bytes bytes;
  bytes.put(std::uint32_t{0x46554747}).put(version).put(tensors).put(keys);  // "GGUF"
  return bytes;
}

GgufHeader parse(const std::string& text) {
  return parse_gguf_header(
      [&](std::uint64_t begin, std::span<std::byte> into) {
        ASSERT_LE(begin + into.size(), text.size());  // never asked beyond the end
        std::memcpy(into.data(), text.data() + begin, into.size());
      },
      text.size());
}

std::string fault(const Bytes& bytes) {
  try {
    parse(bytes.text());
  } catch (const Error& e) {
    return e.message();
  }
  return "none";
}

TEST(Gguf, ReadsEveryValueType) {
  Bytes bytes = file(0, 13);
  bytes.key("u8", 0).put(std::uint8_t{255}).key("i8", 1).put(std::int8_t{-1});
  bytes.key("u16", 2).put(std::uint16_t{65535}).key("i16", 3).put(std::int16_t{-2});
  bytes.key("u32", 4).put(std::uint32_t{4294967295u}).key("i32", 5).put(std::int32_t{-3});
  bytes.key("f32", 6).put(0.1f).key("b", 7).put(std::uint8_t{1}).key("s", 8).put_string("text");
  bytes.key("a", 9).put(std::uint32_t{9}).put(std::uint64_t{2});
  for (int i = 0; i < 2; ++i) bytes.put(std::uint32_t{8}).put(std::uint64_t{1}).put_string(std::to_string(i));
  bytes.key("u64", 10).put(~std::uint64_t{0}).key("i64", 11).put(std::int64_t{-4}).key("f64", 12).put(0.1);
  EXPECT_EQ(parse(bytes.text()).metadata.dump(),
            R"({"u8":255,"i8":-1,"u16":65535,"i16":-2,"u32":4294967295,"i32":-3,"f32":0.10000000149011612,"b":true,)"
            R"("s":"text","a":[["0"],["1"]],"u64":18446744073709551615,"i64":-4,"f64":0.1})");
}

TEST(Gguf, TurnsDimensionsRoundAndCountsFromTheFile) {
  Bytes bytes = file(3, 0, 2);
  bytes.tensor("w", {64, 3}, 2, 0).tensor("b", {3}, 0, 128).tensor("a", {}, 30, 160).data(162);
  const GgufHeader header = parse(bytes.text());
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0].name, "a");  // sorted
  EXPECT_EQ(header.tensors[0].dtype, DType::kBf16);
  EXPECT_EQ(header.tensors[0].bytes, 2u);
  const StoredTensor& w = header.tensors[2];
  EXPECT_EQ(w.type, "Q4_0");
  EXPECT_EQ(w.dtype, DType::kU8);
  EXPECT_EQ(w.shape, (std::vector<std::int64_t>{3, 64}));
  EXPECT_EQ(w.bytes, 3u * 2 * 18);
  EXPECT_EQ(w.offset, header.data_begin);
  EXPECT_EQ(header.tensors[1].offset, header.data_begin + 128);
}

TEST(Gguf, RefusalsSayWhatIsWrong) {
  EXPECT_EQ(fault(file(0, 0, 0x03000000)), "the file is big endian (version 0x3000000)");
  EXPECT_EQ(fault(file(0, 0, 4)), "version 4 of GGUF is unknown; there are 2 and 3");
  EXPECT_EQ(fault(file(0, 2).key("a", 0).put(std::uint8_t{1}).key("a", 0).put(std::uint8_t{1}).data(64)),
            "the key 'a' stands twice");
  EXPECT_EQ(fault(file(0, 1).key("a", 7).put(std::uint8_t{2})), "key 'a': a boolean is stored as 2");
  EXPECT_EQ(fault(file(0, 1).key("\xff", 0).put(std::uint8_t{2})).substr(0, 9), "the key '");
  EXPECT_EQ(fault(file(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0).data(4)),
            "tensor 't': it has 5 dimensions, more than 4");
  EXPECT_EQ(fault(file(1, 0).tensor("t", {~std::uint64_t{0}}, 0, 0).data(4)),
            "tensor 't': its dimensions -1 are beyond 2^63 elements");
  EXPECT_EQ(fault(file(1, 0).tensor("t", {std::uint64_t{1} << 62}, 28, 0).data(4)),
            "tensor 't': its 4611686018427387904 elements are beyond 2^64 bytes");
  EXPECT_EQ(fault(file(2, 0).tensor("a", {8}, 0, 0).tensor("b", {8}, 0, 64).data(96)),
            "tensor 'b': its offset is 64, and the tensors before it end at 32");
}

TEST(Gguf, RefusesAnEmptyTensorBeyondTheEnd) {
  EXPECT_EQ(fault(file(1, 0).tensor("t", {0}, 0, 0)),
            "tensor 't': it needs 0 bytes from byte 64, and the file ends at 57");
}

TEST(Gguf, RefusesNestingAndElementsBeyondItsLimits) {
  Bytes deep = file(0, 1);
  deep.key("a", 9);
  for (int i = 0; i < 5; ++i) deep.put(std::uint32_t{9}).put(std::uint64_t{1});
  EXPECT_EQ(fault(deep.data(64)), "key 'a': arrays are nested more than 4 deep");
  constexpr std::uint64_t kMany = (std::uint64_t{1} << 23) + 1;
  Bytes many = file(0, 1);
  many.key("a", 9).put(std::uint32_t{0}).put(kMany).data(kMany);
  EXPECT_EQ(fault(many), "key 'a': the arrays have more than 8388608 elements");
}

TEST(Gguf, RefusesEveryTruncation) {
  Bytes bytes = file(1, 2);
  bytes.key("s", 8).put_string("text").key("a", 9).put(std::uint32_t{4}).put(std::uint64_t{2}).put(std::uint64_t{7});
  bytes.tensor("t", {32}, 8, 0).data(34);
  ASSERT_EQ(fault(bytes), "none");
  for (std::size_t size = 0; size < bytes.text().size(); ++size)
    EXPECT_THROW(parse(bytes.text().substr(0, size)), Error) << size;
}

}  // namespace
}  // namespace tessera
