// Experts one by one: every tensor of every expert counts.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

std::string expert(int i, const std::string& part) {
  return "model.layers.0.moe.experts." + std::to_string(i) + "." + part;
}

// vllm-project/vllm#39256, sgl-project/sglang#22929, #24696: experts under names that a loader did not list were
// skipped, and the model ran on zeros. vllm#32080: experts without a gate.
TEST(ExpertTensors, AreAllModules) {
  for (const std::vector<std::string>& parts : {std::vector<std::string>{"gate_proj", "up_proj", "down_proj"},
                                                {"w1", "w2", "w3"},
                                                {"up_proj", "down_proj"},
                                                {"some_new_name"}}) {
    const test::TemporaryFolder folder;
    ModelBuilder b;
    for (int i = 0; i < 3; ++i)
      for (const std::string& part : parts) test::add_ct_nvfp4(b, expert(i, part), 8);
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    EXPECT_EQ(model.modules().size(), 3 * parts.size());
    for (const StoredTensor& t : model.container().tensors()) EXPECT_NE(model.place(t).module, "") << t.name;
    EXPECT_EQ(test::values_of(model, expert(2, parts.back())), std::vector<float>(32, 0.25f));
  }
}

// The same where some are not there: by the bank's own numbers, or by the configuration's.
TEST(ExpertTensors, AreMissedByName) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  for (int i = 0; i < 3; ++i) {
    test::add_ct_nvfp4(b, expert(i, "up_proj"), 8);
    if (i != 1) test::add_ct_nvfp4(b, expert(i, "down_proj"), 8);
  }
  b.write(folder / "hole");
  EXPECT_TRUE(test::has(test::refusal_of(folder / "hole").message(), expert(1, "down_proj") + " is missing"));
  ModelBuilder few;
  test::add_ct_nvfp4(few, expert(0, "up_proj"), 8).file("config.json", R"({"text_config": {"num_experts": 2}})");
  EXPECT_TRUE(test::has(test::refusal_of(few.write(folder / "few")).message(), expert(1, "up_proj") + " is missing"));
}

// sglang#24434, #24137: one expert's input_scale is absent. It is dynamic then; the others keep theirs.
TEST(ExpertTensors, MayLackAnInputScale) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  for (int i = 0; i < 2; ++i) test::add_mo_nvfp4(b, expert(i, "up_proj"), 0.25f);
  b.numbers(expert(0, "up_proj") + ".input_scale", DType::kF32, {}, {0.5f});
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
  model.require_usable();
  ASSERT_TRUE(model.find(expert(0, "up_proj"))->activation);
  EXPECT_EQ(model.find(expert(0, "up_proj"))->activation->bits, 0.5f);
  EXPECT_FALSE(model.find(expert(1, "up_proj"))->activation);
}

}  // namespace
}  // namespace tessera
