// Reports about containers: dtypes that readers did not know, and headers that they took.
#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

// safetensors/safetensors#839, #840, #404, huggingface/candle#2875, runai-model-streamer#10, mlverse/safetensors#13,
// vllm-project/llm-compressor#138, #42: every dtype of the format has a name and a size here.
TEST(Containers, KnowEveryDtype) {
  for (const DTypeFacts& dtype : kDTypes) {
    const test::TemporaryFolder folder;
    test::ModelBuilder().bytes("t", *find_dtype(dtype.name), {2, 8}, {0}).write(folder / "model");
    const Container container = Container::open(folder / "model");
    const StoredTensor& t = *container.find("t");
    EXPECT_EQ(t.type, dtype.name);
    EXPECT_EQ(t.bytes, static_cast<std::uint64_t>(2 * dtype.bits)) << dtype.name;
    EXPECT_EQ(t.shape, (Shape{2, 8})) << dtype.name;
  }
}

// fastsafetensors#79, safetensors#839: F4 has the logical shape in the header. Codes in F4 and in U8 are the same
// weight.
TEST(Containers, CountF4InElements) {
  const test::TemporaryFolder folder;
  test::ModelBuilder b;
  b.bytes("m.up_proj.weight", DType::kF4, {2, 32}, {test::kOnes})
      .bytes("m.up_proj.weight_scale", DType::kF8E8M0, {2, 1}, {test::kE8m0One + 1});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(model.find("m.up_proj")->reading.extent, (Extent{2, 32}));
  EXPECT_EQ(test::values_of(model, "m.up_proj"), std::vector<float>(64, 2.f));
}

std::string file_with(std::string header, std::size_t data) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + std::string(data, '\0');
}

// safetensors#401, openasr#73: a name twice. lattice#752, h3.c#48: tensors that overlap. Comfy-Org/ComfyUI#15722:
// offsets that run backwards.
TEST(Containers, RefuseNamesTwiceAndBytesTwice) {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  for (const auto& [header, word] : {std::pair<std::string, std::string>{"{" + a + "," + a + "}", "a"},
                                     {"{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", "b"},
                                     {R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", "b"}}) {
    const test::TemporaryFolder folder;
    write_file(folder / "x.safetensors", file_with(header, 6));
    const Error e = test::error_of([&] { Container::open(folder / "x.safetensors"); });
    EXPECT_EQ(e.code(), Errc::kCorrupt);
    EXPECT_TRUE(test::has(e.message(), word)) << e.what();
  }
}

}  // namespace
}  // namespace tessera
