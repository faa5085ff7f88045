// KV-cache scales have many names; they are no weights, and they stay with the model.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

// vllm-project/vllm#34293: `k_proj.k_scale` went to a name that did not exist. sgl-project/sglang#35455: scales of
// compressed-tensors' files were dropped. vllm#6761, #4893, #6528, #25968: the older names.
// NVIDIA/Model-Optimizer#20: an exporter raised every scale below 1 to 1. Here 0.75 stays 0.75.
TEST(KvScales, AreKnownUnderEveryNameAndKept) {
  const std::string a = "model.layers.0.self_attn.";
  for (const std::string& name :
       {a + "k_scale", a + "k_proj.k_scale", a + "v_proj.v_scale", a + "q_scale", a + "kv_scale",
        a + "k_proj.output_scale", std::string("backbone.layers.0.mixer.k_proj.k_scale")}) {
    const test::TemporaryFolder folder;
    test::ModelBuilder b;
    test::add_ct_nvfp4(b, a + "k_proj", 8)
        .numbers(name, DType::kBf16, {1}, {0.75f})
        .file("config.json", R"({"model_type": "llama"})")
        .write(folder / "ct");
    const Checkpoint model = Checkpoint::open(folder / "ct");
    model.require_usable();
    EXPECT_TRUE(model.problems().empty()) << name;
    EXPECT_EQ(model.place(*model.container().find(name)).role, Role::kKvScale) << name;
    EXPECT_EQ(test::values_of(model, a + "k_proj"), std::vector<float>(32, 0.25f));
    Stream stream(kCpu, 1);
    convert_checkpoint(stream, model, folder / "mo", {.dialect = &find_dialect("modelopt")});
    const Checkpoint mo = Checkpoint::open(folder / "mo", {.strict = true});
    mo.require_usable();
    std::vector<float> kept;
    for (const StoredTensor& t : mo.container().tensors())
      if (mo.place(t).role == Role::kKvScale && !test::has(t.name, ".."))
        kept.push_back(element_as_float(mo.load_tensor(t), 0));
    EXPECT_EQ(kept, std::vector<float>{0.75f}) << name;
    EXPECT_EQ(mo.config().sidecar.find("quantization", "kv_cache_quant_algo")->as_string(), "FP8");
  }
}

}  // namespace
}  // namespace tessera
