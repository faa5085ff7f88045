// Tensors beyond 4 GiB and offsets beyond 2^32, over sparse files: the last element is the last element.
#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/io/checkpoint.h"
#include "tessera/kernels/quantize.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

struct Hole {
  std::string name;
  DType dtype;
  Shape shape;
};

// A safetensors file of zeros, with `numbers` at bytes of tensors: name, byte from its start, bytes.
struct Written {
  std::string name;
  std::uint64_t at;
  std::vector<std::uint8_t> bytes;
};

void write_sparse(const std::string& path, const std::vector<Hole>& holes, const std::vector<Written>& numbers) {
  std::string header = "{";
  std::map<std::string, std::uint64_t> begin;
  std::uint64_t end = 0;
  for (const Hole& h : holes) {
    begin[h.name] = end;
    const std::uint64_t bytes = tensor_bytes(h.dtype, h.shape);
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", end == 0 ? "" : ",", h.name,
                          dtype_name(h.dtype), fmt::join(h.shape, ","), end, end + bytes);
    end += bytes;
  }
  header += "}";
  const std::uint64_t size = header.size();
  const File file = File::create(path);
  file.write(0, std::as_bytes(std::span(&size, 1)));
  file.write(8, bytes_of(header));
  const auto data = [&](const Written& w) { return 8 + size + begin.at(w.name) + w.at; };
  for (const Written& w : numbers) file.write(data(w), std::as_bytes(std::span(w.bytes)));
  const std::byte last{0};
  if (file.size() < 8 + size + end) file.write(8 + size + end - 1, std::span(&last, 1));
}

constexpr std::int64_t kRows = 70'000, kCols = 131'072;  // 2^17: 4.6e9 bytes of 4-bit codes, 9.2e9 elements

TEST(FullSize, LastRowsOfQuantizedTensorsBeyond4GibAreTheirOwn) {
  const test::TemporaryFolder folder;
  const std::uint64_t codes = static_cast<std::uint64_t>(kRows) * kCols / 2, scales = codes / 8;
  ASSERT_GT(codes, std::uint64_t{1} << 32);
  write_sparse(folder / "model.safetensors",
               {{"m.weight_global_scale", DType::kF32, {1}},
                {"m.weight_packed", DType::kU8, {kRows, kCols / 2}},
                {"m.weight_scale", DType::kF8E4M3, {kRows, kCols / 16}}},
               {{"m.weight_global_scale", 0, {0, 0, 0, 0x41}},                      // 8
                {"m.weight_packed", codes - 1, {0x70}},                             // the last element is 6
                {"m.weight_packed", codes - (std::uint64_t{1} << 32) - 1, {0x20}},  // where 32 bits would look
                {"m.weight_scale", scales - 1, {0x40}}});                           // 2
  const Checkpoint model = Checkpoint::open(folder / "model.safetensors");
  model.require_usable();
  const Module& m = *model.find("m");
  EXPECT_EQ(m.reading.extent, (Extent{kRows, kCols}));
  EXPECT_EQ(m.bytes(), codes + scales + 4);
  Stream stream(kCpu, 1);
  const Tensor last = dequantize(stream, model.load_rows(m, kRows - 1, kRows));
  for (std::int64_t i = 0; i < kCols; ++i) ASSERT_EQ(last.as<float>()[i], i + 1 == kCols ? 6 * 2.f / 8 : 0.f) << i;
}

TEST(FullSize, DenseTensorsBeyond4GibAreReadAtAnyOffset) {
  const test::TemporaryFolder folder;
  const std::uint64_t bytes = std::uint64_t{5} << 30;
  write_sparse(
      folder / "model.safetensors",
      {{"a.weight", DType::kBf16, {static_cast<std::int64_t>(bytes / 4096), 2048}}, {"b.weight", DType::kF32, {2, 2}}},
      {{"a.weight", bytes - 2, {0x80, 0x3f}}, {"b.weight", 12, {0, 0, 0, 0x40}}});
  const Checkpoint model = Checkpoint::open(folder / "model.safetensors");
  const Container& container = model.container();
  const StoredTensor &a = *container.find("a.weight"), &b = *container.find("b.weight");
  EXPECT_EQ(a.bytes, bytes);
  EXPECT_EQ(a.elements() * 2, static_cast<std::int64_t>(bytes));
  EXPECT_GT(b.offset, std::uint64_t{1} << 32);
  std::uint16_t word = 0;
  container.read(a, bytes - 2, std::as_writable_bytes(std::span(&word, 1)));
  EXPECT_EQ(word, 0x3f80);
  EXPECT_EQ(element_as_float(model.load_tensor(b), 3), 2.f);
  EXPECT_EQ(container.map(a)[bytes - 1], std::byte{0x3f});
}

}  // namespace
}  // namespace tessera
