// Heads and embeddings are weights like others: the same tensors, the same decoding.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

// ollama/ollama#16527: an NVFP4 lm_head lost its global on the way through the embedding's path.
TEST(Head, DecodesWithItsGlobal) {
  for (const std::string name : {"lm_head", "model.embed_tokens", "model.language_model.embed_tokens"}) {
    const test::TemporaryFolder folder;
    test::ModelBuilder mo, ct;
    EXPECT_EQ(test::values_of(Checkpoint::open(test::add_mo_nvfp4(mo, name, 0.25f).write(folder / "mo")), name),
              std::vector<float>(32, 0.5f));
    EXPECT_EQ(test::values_of(Checkpoint::open(test::add_ct_nvfp4(ct, name, 4).write(folder / "ct")), name),
              std::vector<float>(32, 0.5f));
  }
}

// vllm-project/vllm#45102: a quantized lm_head that the configuration lists as excluded. The bytes are what they are.
TEST(Head, IsQuantizedWhereItsTensorsAreThoughItIsExcluded) {
  const test::TemporaryFolder folder;
  test::ModelBuilder b;
  test::add_mo_nvfp4(b, "lm_head", 0.25f)
      .file("config.json",
            R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  EXPECT_EQ(test::values_of(model, "lm_head"), std::vector<float>(32, 0.5f));
  ASSERT_EQ(model.warnings().size(), 1u);
  EXPECT_EQ(model.warnings()[0].code, "declared_dense");
  EXPECT_TRUE(test::has(model.warnings()[0].message, "lm_head"));
}

}  // namespace
}  // namespace tessera
