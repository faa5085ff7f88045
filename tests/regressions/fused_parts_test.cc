// Projections that engines fuse: each keeps its own global, whatever its siblings have.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/quantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

const std::string kLayer = "model.layers.0.";

// vllm-project/vllm#54150 took one part's global for all; NVIDIA/TensorRT-LLM#14199 the largest; sglang#27588 lost the
// split of gate and up. Here no part sees another's, in either dialect and between them.
TEST(FusedParts, KeepTheirOwnGlobals) {
  const test::TemporaryFolder folder;
  const std::map<std::string, float> globals{{"self_attn.q_proj", 9600},
                                             {"self_attn.k_proj", 12992},
                                             {"self_attn.v_proj", 12160},
                                             {"mlp.gate_proj", 3},
                                             {"mlp.up_proj", 7}};
  ModelBuilder b;
  for (const auto& [part, global] : globals) test::add_ct_nvfp4(b, kLayer + part, global);
  Stream stream(kCpu, 1);
  b.write(folder / "ct");
  convert_checkpoint(stream, Checkpoint::open(folder / "ct"), folder / "mo", {.dialect = &find_dialect("modelopt")});
  for (const std::string dialect : {"ct", "mo"})
    for (const auto& [part, global] : globals)  // the nearest f32 to 1/g and 2/g agree: the scale is a power of two
      EXPECT_EQ(test::values_of(Checkpoint::open(folder / dialect), kLayer + part),
                std::vector<float>(32, 2.f / global))
          << part;
}

// vllm-project/llm-compressor#1869: after a refactoring, q, k and v had globals of their own. Quantizing gives the
// group the global of its largest weight, 2688 / amax; what is no sibling has its own.
TEST(FusedParts, ShareOneGlobalWhenTheyAreQuantized) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  b.numbers(kLayer + "self_attn.q_proj.weight", DType::kBf16, {16, 16}, {1})
      .numbers(kLayer + "self_attn.k_proj.weight", DType::kBf16, {16, 16}, {4})
      .numbers(kLayer + "self_attn.v_proj.weight", DType::kBf16, {16, 16}, {2})
      .numbers(kLayer + "self_attn.o_proj.weight", DType::kBf16, {16, 16}, {2})
      .numbers(kLayer + "mlp.gate_proj.weight", DType::kBf16, {16, 16}, {8})
      .numbers(kLayer + "mlp.up_proj.weight", DType::kBf16, {16, 16}, {0.5f});
  const Checkpoint dense = Checkpoint::open(b.write(folder / "dense"));
  Stream stream(kCpu, 1);
  quantize_checkpoint(stream, dense, folder / "q",
                      {.recipe = Recipe::plain(find_format("nvfp4")), .dialect = &find_dialect("compressed-tensors")});
  const Checkpoint q = Checkpoint::open(folder / "q");
  for (const auto& [part, amax] : {std::pair{"self_attn.q_proj", 4},
                                   {"self_attn.k_proj", 4},
                                   {"self_attn.v_proj", 4},
                                   {"self_attn.o_proj", 2},
                                   {"mlp.gate_proj", 8},
                                   {"mlp.up_proj", 8}})
    EXPECT_EQ(q.find(kLayer + part)->global->bits, 2688.f / static_cast<float>(amax)) << part;
}

// sglang#29151: the one global of a projection that is fused in the file reached its first slot only.
TEST(FusedParts, ThatAreFusedInTheFileHaveOneGlobalForAllRows) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, kLayer + "self_attn.qkv_proj", 0.25f, 48, 32);
  EXPECT_EQ(test::values_of(Checkpoint::open(b.write(folder / "model")), kLayer + "self_attn.qkv_proj"),
            std::vector<float>(48 * 32, 0.5f));
}

// The same with a global for each slot: which rows are whose, the file does not say.
TEST(FusedParts, WithSeveralGlobalsAreRefused) {
  const test::TemporaryFolder folder;
  const std::string m = kLayer + "self_attn.qkv_proj";
  const ModelBuilder b = ModelBuilder()
                             .bytes(m + ".weight", DType::kU8, {48, 16}, {test::kOnes})
                             .bytes(m + ".weight_scale", DType::kF8E4M3, {48, 2}, {test::kTwo})
                             .numbers(m + ".weight_scale_2", DType::kF32, {3}, {0.25f, 0.5f, 1});
  const Error e = test::refusal_of(b.write(folder / "model"));
  EXPECT_EQ(e.code(), Errc::kShape);
  EXPECT_EQ(e.tensor(), m + ".weight_scale_2");
}

// TensorRT-LLM#16867: with attention_k_eq_v there is no v_proj; reading must not ask for its scales.
TEST(FusedParts, MayBeAbsent) {
  const test::TemporaryFolder folder;
  ModelBuilder b;
  test::add_mo_nvfp4(b, kLayer + "self_attn.q_proj", 0.25f);
  test::add_mo_nvfp4(b, kLayer + "self_attn.k_proj", 0.5f);
  b.file("config.json",
         R"({"attention_k_eq_v": true, "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})");
  const Checkpoint model = Checkpoint::open(b.write(folder / "model"), {.strict = true});
  model.require_usable();
  EXPECT_EQ(test::values_of(model, kLayer + "self_attn.k_proj"), std::vector<float>(32, 1.f));
}

// sglang#33245: packed weights under a name that no list had were dropped in silence. Names of modules are anyone's; a
// tensor beside a weight that has no meaning is an error.
TEST(FusedParts, UnderUnknownNamesAreReadAndTheirTensorsAllUsed) {
  const test::TemporaryFolder folder;
  const std::string m = kLayer + "attn.fused_wqkv_a_with_mqa";
  ModelBuilder b;
  test::add_ct_nvfp4(b, m, 8).write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / "model");
  model.require_usable();
  EXPECT_EQ(test::values_of(model, m), std::vector<float>(32, 0.25f));
  for (const StoredTensor& t : model.container().tensors()) EXPECT_EQ(model.place(t).module, m) << t.name;
  b.bytes(m + ".weight_zero_point", DType::kI8, {2, 1}, {1}).write(folder / "more");
  EXPECT_TRUE(test::has(test::refusal_of(folder / "more").message(), m + ".weight_zero_point"));
}

}  // namespace
}  // namespace tessera
