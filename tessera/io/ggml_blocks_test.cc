#include "tessera/io/ggml_blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/container.h"
#include "tessera/numeric/element.h"

namespace tessera {
namespace {

Container fixture(const std::string& path) { return Container::open(std::string(TESSERA_TEST_DATA) + "/" + path); }

std::vector<float> read_floats(const Container& container, const std::string& name) {
  const StoredTensor* tensor = container.find(name);
  EXPECT_NE(tensor, nullptr) << name;
  std::vector<float> values(tensor->bytes / sizeof(float));
  container.read(*tensor, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

const GgmlType& type_named(std::string_view name) {
  for (const GgmlType& type : kGgmlTypes)
    if (type.name == name) return type;
  throw Error(Errc::kNotFound, std::string(name));
}

void expect_same_bits(const std::vector<float>& found, const std::vector<float>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool both_nan = std::isnan(found[i]) && std::isnan(expected[i]);
    ASSERT_TRUE(both_nan || std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i]))
        << what << " element " << i << ": " << found[i] << " instead of " << expected[i];
  }
}

struct Case {
  const char* file;
  const char* type;
  const char* blocks;  // tensor names after the type's
  const char* values;
};
const Case kCases[] = {
    {"gguf/gguf_decode.safetensors", "Q4_0", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q4_1", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q5_0", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q5_1", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q8_0", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "MXFP4", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "NVFP4", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q2_K", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q3_K", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q4_K", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q5_K", ".codes", ".dequant"},
    {"gguf/gguf_decode.safetensors", "Q6_K", ".codes", ".dequant"},
    {"gguf/blocks.safetensors", "Q4_0", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "Q4_1", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "Q5_0", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "Q5_1", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "Q8_0", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "MXFP4", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "NVFP4", ".blocks", ".dequantized"},
    {"gguf/blocks.safetensors", "MXFP4", ".all_scales.blocks", ".all_scales.dequantized"},
    {"gguf/blocks.safetensors", "NVFP4", ".all_scales.blocks", ".all_scales.dequantized"},
};

TEST(GgmlBlocks, DecodeAsGgmlAndGgufPyDo) {
  for (const Case& c : kCases) {
    const Container container = fixture(c.file);
    const std::string name = c.type;
    const std::vector<std::byte> blocks = container.read_all(*container.find(name + c.blocks));
    const std::vector<float> expected = read_floats(container, name + c.values);
    std::vector<float> values(expected.size(), std::nanf(""));
    dequantize_ggml(type_named(name), blocks, values);
    expect_same_bits(values, expected, name + c.blocks);
  }
}

TEST(GgmlBlocks, DecodeWholeGgufFiles) {
  for (const std::string name : {"ok_plain", "ok_blocks", "ok_alignment_64", "ok_k_quants"}) {
    const Container gguf = fixture("containers/gguf/" + name + ".gguf");
    const Container expected = fixture("containers/gguf/" + name + ".expected.safetensors");
    ASSERT_EQ(gguf.tensors().size(), expected.tensors().size());
    for (const StoredTensor& tensor : gguf.tensors()) {
      const GgmlType& type = *find_ggml_type(tensor.ggml_type);
      EXPECT_EQ(tensor.shape, expected.find(tensor.name)->shape);
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      dequantize_ggml(type, gguf.read_all(tensor), values);
      expect_same_bits(values, read_floats(expected, tensor.name), name + " " + tensor.name);
    }
  }
}

struct Split {
  std::vector<std::byte> codes, scales;
  std::int64_t replaced = 0;
};
Split split(const GgmlType& type, std::span<const std::byte> blocks) {
  const std::size_t count = blocks.size() / static_cast<std::size_t>(type.block_bytes);
  Split result;
  result.codes.resize(count * static_cast<std::size_t>(type.block) / 2);
  result.scales.resize(count * (type.name == "MXFP4" ? 1 : 4));
  result.replaced = split_ggml(type, blocks, {result.codes, result.scales});
  return result;
}

// Decodes what split_ggml gave, as a QuantizedTensor is decoded, and compares it with ggml's own values.
void expect_split_decodes(const GgmlType& type, std::span<const std::byte> blocks) {
  const Split parts = split(type, blocks);
  std::vector<float> expected(parts.codes.size() * 2);
  dequantize_ggml(type, blocks, expected);
  const bool mx = type.name == "MXFP4";
  const std::size_t block = mx ? 32 : 16;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto pair = std::to_integer<std::uint32_t>(parts.codes[i / 2]);
    const float code = decode(kE2M1, i % 2 == 0 ? pair & 15 : pair >> 4);
    const float scale = decode(mx ? kE8M0 : kE4M3, std::to_integer<std::uint32_t>(parts.scales[i / block]));
    ASSERT_EQ(code * scale, expected[i]) << type.name << " element " << i;  // zeros by value
  }
}

TEST(GgmlBlocks, SplitIntoCodesAndScalesOfTheSameValues) {
  for (const char* name : {"MXFP4", "NVFP4"}) {
    const GgmlType& type = type_named(name);
    const Container container = fixture("gguf/blocks.safetensors");
    expect_split_decodes(type, container.read_all(*container.find(std::string(name) + ".blocks")));
    const std::vector<std::byte> all = container.read_all(*container.find(std::string(name) + ".all_scales.blocks"));
    const auto block_bytes = static_cast<std::size_t>(type.block_bytes);
    for (std::size_t b = 0; b + block_bytes <= all.size(); b += block_bytes) {
      const std::span<const std::byte> one(all.data() + b, block_bytes);
      if (b / block_bytes == 0xFF) {
        EXPECT_THROW(split(type, one), Error);
      } else {
        expect_split_decodes(type, one);
      }
    }
  }
}

TEST(GgmlBlocks, ReplaceOnlyScalesThatE4M3ReadsOtherwise) {
  std::vector<std::byte> block(36);
  block[0] = std::byte{0x7E}, block[1] = std::byte{0x7F}, block[2] = std::byte{0x80}, block[3] = std::byte{0xFE};
  const Split parts = split(type_named("NVFP4"), block);
  EXPECT_EQ(parts.replaced, 3);
  EXPECT_EQ(parts.scales, (std::vector<std::byte>{std::byte{0x7E}, std::byte{0}, std::byte{0}, std::byte{0x7E}}));
}

TEST(GgmlBlocks, RefuseWhatIsNotDecoded) {
  std::vector<float> values(256);
  for (const GgmlType& type : kGgmlTypes) {
    const auto blocks = 256 / static_cast<std::size_t>(type.block);
    const std::vector<std::byte> bytes(blocks * static_cast<std::size_t>(type.block_bytes));
    if (can_dequantize(type)) {
      dequantize_ggml(type, bytes, values);
      EXPECT_THROW(dequantize_ggml(type, std::span(bytes).first(bytes.size() - 1), values), Error) << type.name;
      continue;
    }
    try {
      dequantize_ggml(type, bytes, values);
      FAIL() << type.name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::kUnsupported);
      EXPECT_NE(e.message().find(type.name), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tessera
