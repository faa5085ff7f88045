// Tensors under the names of a dialect that are not what it writes: each is an Error that names the tensor and says
// what was wanted. None is a crash, a long wait or an allocation that the file's size does not explain.
#include <gtest/gtest.h>

#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr const char *kQ = "blocks.0.q", *kExperts = "model.layers.0.mlp.experts.",
                     *kGateUp = "model.layers.0.mlp.experts.gate_up_proj",
                     *kDown = "model.layers.0.mlp.experts.down_proj", *kFlux = "double_blocks.0.img_attn.qkv",
                     *kLtx = "model.diffusion_model.transformer_blocks.0.attn1.to_q";

struct Case {
  const char* name;
  ModelBuilder model;
  std::string tensor;  // of the error; "": the whole file's
  std::vector<std::string> words{};
  bool single_file = false;
};

// Rows [16, 32] in NVFP4, of which `m` says where block scales stand.
ModelBuilder nvfp4(const std::string& m, Shape scales = {128, 4}, std::int64_t rows = 16, std::int64_t cols = 32) {
  return ModelBuilder()
      .bytes(m + ".weight", DType::kU8, {rows, cols / 2}, {test::kOnes})
      .bytes(m + ".weight_scale", DType::kF8E4M3, std::move(scales), {test::kTwo})
      .numbers(m + ".weight_scale_2", DType::kF32, {}, {0.25f});
}
ModelBuilder with_note(ModelBuilder b, const std::string& note) {
  return b.bytes(std::string(kQ) + ".comfy_quant", DType::kU8, {static_cast<std::int64_t>(note.size())},
                 {note.begin(), note.end()});
}
ModelBuilder fp8(const std::string& m, std::int64_t rows = 4, std::int64_t cols = 32) {
  return ModelBuilder().bytes(m + ".weight", DType::kF8E4M3, {rows, cols}, {test::kOne});
}
ModelBuilder blocks(Shape codes, Shape scales, DType scale = DType::kU8) {
  return ModelBuilder()
      .bytes(std::string(kGateUp) + "_blocks", DType::kU8, std::move(codes), {test::kOnes})
      .bytes(std::string(kGateUp) + "_scales", scale, std::move(scales), {test::kE8m0One});
}
ModelBuilder bank(const std::string& name, Shape codes, Shape scales) {
  return ModelBuilder()
      .bytes(name, DType::kU8, std::move(codes), {test::kOnes})
      .bytes(name + "_weight_scale", DType::kF8E4M3, std::move(scales), {test::kTwo})
      .numbers(name + "_weight_scale_2", DType::kF32, {}, {0.25f});
}
ModelBuilder torchao(const std::string& metadata, Shape scales = {32, 16}, DType scale = DType::kF8E4M3) {
  ModelBuilder b;
  b.bytes(std::string(kQ) + "._weight_qdata", DType::kU8, {2, 16}, {test::kOnes})
      .bytes(std::string(kQ) + "._weight_scale", scale, std::move(scales), {test::kTwo});
  if (!metadata.empty()) b.metadata(std::string(kQ) + ".weight", metadata);
  return b;
}
// Experts under each other, of none of which there is a row.
ModelBuilder empty_stack() {
  ModelBuilder b;
  return test::add_ct_nvfp4(b, kGateUp, 8, 0);
}
ModelBuilder with_config(ModelBuilder b, const std::string& quantization) {
  return b.file("config.json", R"({"quantization_config": )" + quantization + "}");
}

constexpr const char* kTiled = R"({"_type": "NVFP4Tensor", "_data": {"is_swizzled_scales": true}})";

std::vector<Case> comfy_cases() {
  const ModelBuilder b = nvfp4(kQ);
  return {
      {"ComfyNoteIsNoJson", with_note(b, "nvfp4"), std::string(kQ) + ".comfy_quant", {"comfy_quant"}},
      {"ComfyNoteIsAList", with_note(b, "[1]"), std::string(kQ) + ".comfy_quant", {"JSON object"}},
      {"ComfyNoteIsDeep", with_note(b, std::string(60000, '[')), std::string(kQ) + ".comfy_quant"},
      {"ComfyNoteIsHuge",
       with_note(b, std::string(70000, ' ')),
       std::string(kQ) + ".comfy_quant",
       {"70000 bytes", "short text"}},
      {"ComfyNoteIsBinary", with_note(b, std::string("\xff\0\xfe", 3)), std::string(kQ) + ".comfy_quant"},
      {"ComfyNoteIsEmpty", with_note(b, ""), std::string(kQ) + ".comfy_quant"},
      {"ComfyFormatIsANumber", with_note(b, R"({"format": 4})"), kQ, {"its note says the format ''"}},
      {"ComfyShapeIsAText", with_note(b, R"({"format": "nvfp4", "orig_shape": "16x32"})"), kQ, {"two numbers"}},
      {"ComfyShapeHasOneAxis", with_note(b, R"({"format": "nvfp4", "orig_shape": [16]})"), kQ, {"two numbers"}},
      {"ComfyShapeIsNegative",
       with_note(b, R"({"format": "nvfp4", "orig_shape": [-16, 32]})"),
       std::string(kQ) + ".weight",
       {"padded to multiples of 16"}},
      {"ComfyShapeIsHuge",
       with_note(b, R"({"format": "nvfp4", "orig_shape": [9223372036854775807, 32]})"),
       std::string(kQ) + ".weight",
       {"padded to multiples of 16"}},
      {"ComfyShapeIsBeyond63Bits",
       with_note(b, R"({"format": "nvfp4", "orig_shape": [18446744073709551615, 32]})"),
       std::string(kQ) + ".comfy_quant",
       {"2^63"}},
      {"ComfyPaddingDoesNotFit",
       with_note(b, R"({"format": "nvfp4", "orig_shape": [16, 40]})"),
       std::string(kQ) + ".weight",
       {"[16, 16]", "16 x 40"}},
      {"ComfyRowsAreNotPadded",
       with_note(nvfp4(kQ, {128, 4}, 10), R"({"format": "nvfp4", "orig_shape": [10, 32]})"),
       std::string(kQ) + ".weight",
       {"padded"}},
      {"ComfyScalesAreInRows",
       with_note(nvfp4(kQ, {16, 2}), R"({"format": "nvfp4"})"),
       std::string(kQ) + ".weight_scale",
       {"16 x 2 scales", "tiles of 128 x 4"}},
      {"ComfyCodesAreAnotherFormat", with_note(b, R"({"format": "mxfp8"})"), std::string(kQ) + ".weight", {"U8"}},
      {"ComfyRotated", with_note(b, R"({"format": "nvfp4", "convrot": true})"), kQ, {"rotated"}},
      {"ComfyLayerNotesAreAList", nvfp4(kQ).metadata("_quantization_metadata", "[]"), "", {"_quantization_metadata"}},
      {"ComfyLayerNotesAreNoJson", nvfp4(kQ).metadata("_quantization_metadata", "{"), "", {"_quantization_metadata"}},
      {"TwoDialectsClaimIt",
       with_note(fp8(kQ).numbers(std::string(kQ) + ".scale_weight", DType::kF32, {}, {0.5f}),
                 R"({"format": "float8_e4m3fn"})"),
       kQ,
       {"comfy-quant", "comfy-scaled"}},
      {"ScaledFp8HasTwoScales",
       fp8(kQ).numbers(std::string(kQ) + ".scale_weight", DType::kF32, {2}, {0.5f}),
       std::string(kQ) + ".scale_weight",
       {"1 x 1 scales"},
       true},
      {"ScaledFp8HasAScaleInBytes",
       fp8(kQ).bytes(std::string(kQ) + ".scale_weight", DType::kU8, {1}, {1}),
       std::string(kQ) + ".scale_weight",
       {"no use for scale_weight (U8 [1])"},
       true},
      {"ScaleWeightAlone",
       ModelBuilder().numbers(std::string(kQ) + ".scale_weight", DType::kF32, {}, {0.5f}),
       std::string(kQ) + ".scale_weight",
       {"has no weight"}},
  };
}

std::vector<Case> single_file_cases() {
  return {
      {"FluxScalesAreInRows", nvfp4(kFlux, {16, 2}), std::string(kFlux) + ".weight_scale", {"tiles of 128 x 4"}},
      {"FluxScalesAreFloats",
       ModelBuilder()
           .bytes(std::string(kFlux) + ".weight", DType::kU8, {16, 16}, {test::kOnes})
           .numbers(std::string(kFlux) + ".weight_scale", DType::kF32, {128, 4}, {1})
           .numbers(std::string(kFlux) + ".weight_scale_2", DType::kF32, {}, {0.25f}),
       std::string(kFlux) + ".weight_scale",
       {"F8_E4M3"}},
      {"LtxLacksItsGlobal",
       ModelBuilder()
           .bytes(std::string(kLtx) + ".weight", DType::kU8, {16, 16}, {test::kOnes})
           .bytes(std::string(kLtx) + ".weight_scale", DType::kF8E4M3, {128, 4}, {test::kTwo}),
       std::string(kLtx) + ".weight_scale_2",
       {"missing"},
       true},
      {"ModeloptMetadataIsAList", nvfp4(kQ).metadata("quantization_config", "[]"), "", {"quantization_config"}},
      {"ModeloptMetadataIsNoJson", nvfp4(kQ).metadata("quantization_config", "fp8"), "", {"quantization_config"}},
      {"ModeloptTilesOrRows",
       nvfp4(kQ, {128, 4}, 128, 64).metadata("quantization_config", "{}"),
       kQ,
       {"the same in rows and in tiles"}},
      {"ModeloptTilesAreTooFew",
       nvfp4(kQ, {128, 4}, 256, 64).metadata("quantization_config", "{}"),
       std::string(kQ) + ".weight_scale",
       {"256 x 4 scales"}},
      {"NunchakuIsRefused",
       ModelBuilder()
           .bytes(std::string(kQ) + ".qweight", DType::kI8, {16, 16}, {1})
           .bytes(std::string(kQ) + ".wscales", DType::kF8E4M3, {2, 16}, {test::kOne}),
       kQ,
       {"Nunchaku"}},
      {"TorchaoLacksItsMetadata", torchao(""), kQ, {"metadata says nothing of blocks.0.q.weight"}},
      {"TorchaoMetadataIsAList", torchao("[]"), std::string(kQ) + "._weight_qdata", {"JSON object"}},
      {"TorchaoMetadataIsNoJson", torchao("NVFP4Tensor"), std::string(kQ) + "._weight_qdata"},
      {"TorchaoMetadataHasNoData", torchao(R"({"_type": "NVFP4Tensor", "_data": 1})"), kQ, {"does not read"}},
      {"TorchaoIsAnotherClass",
       torchao(R"({"_type": "AffineQuantizedTensor", "_data": {}})"),
       kQ,
       {"AffineQuantizedTensor"}},
      {"TorchaoTilesAreCut", torchao(kTiled, {31, 16}), std::string(kQ) + "._weight_scale", {"tiles of 128 x 4"}},
      {"TorchaoRowsAreTiles",
       torchao(R"({"_type": "NVFP4Tensor", "_data": {}})"),
       std::string(kQ) + "._weight_scale",
       {"2 x 2 scales"}},
      {"TorchaoScalesAreIntegers", torchao(kTiled, {32, 16}, DType::kI8), std::string(kQ) + "._weight_scale"},
  };
}

std::vector<Case> block_cases() {
  return {
      {"BlocksHaveFiveAxes",
       blocks({1, 2, 2, 1, 16}, {1, 2, 2, 1}),
       std::string(kGateUp) + "_blocks",
       {"[experts, rows, blocks, 16]"}},
      {"BlocksAreShort",
       blocks({2, 4, 2, 8}, {2, 4, 2}),
       std::string(kGateUp) + "_blocks",
       {"[experts, rows, blocks, 16]"}},
      {"BlocksHaveNoScales",
       ModelBuilder().bytes(std::string(kGateUp) + "_blocks", DType::kU8, {2, 4, 1, 16}, {test::kOnes}),
       std::string(kGateUp) + "_scales",
       {"missing"}},
      {"BlockScalesAreCut",
       blocks({2, 4, 1, 16}, {2, 3, 1}),
       std::string(kGateUp) + "_scales",
       {"4 x 1 scales for each of 2"}},
      {"BlockScalesAreE4m3",
       blocks({2, 4, 1, 16}, {2, 4, 1}, DType::kF8E4M3),
       std::string(kGateUp) + "_scales",
       {"mxfp4 scales are U8"}},
      {"BlocksOfNoExperts",
       blocks({0, 4, 1, 16}, {0, 4, 1}),
       std::string(kGateUp) + "_blocks",
       {"0 experts", "1 to 16384"}},
      {"BlocksOfManyExperts",
       blocks({20000, 2, 1, 16}, {20000, 2, 1}),
       std::string(kGateUp) + "_blocks",
       {"20000 experts"}},
      {"RowsThatTwoPartsDoNotShare",
       blocks({2, 3, 1, 16}, {2, 3, 1}),
       std::string(kGateUp) + "_blocks",
       {"3 rows", "half"}},
      {"EmptyBankOfBillions",
       ModelBuilder().bytes(kGateUp, DType::kBf16, {std::int64_t{1} << 40, 0, 16}, {}),
       kGateUp,
       {"1 to 16384"}},
      {"AxesWhoseProductOverflows",
       ModelBuilder().bytes(kGateUp, DType::kU8, {0, kHuge, kHuge}, {}),
       kGateUp,
       {"2^48"}},
      {"WeightWhoseAxesOverflow",
       ModelBuilder().bytes(std::string(kQ) + ".weight", DType::kF8E4M3, {0, kHuge}, {}),
       std::string(kQ) + ".weight",
       {"2^48"}},
  };
}

std::vector<Case> bank_cases() {
  return {
      {"DeclaredExpertsAreAbsurd",
       empty_stack().file("config.json", R"({"num_experts": 4611686018427387904})"),
       std::string(kGateUp) + ".weight_packed",
       {"1 to 16384"}},
      {"BankBiasIsCut",
       bank(kGateUp, {2, 8, 4}, {2, 1, 4}).numbers(std::string(kGateUp) + "_bias", DType::kBf16, {2, 3}, {0}),
       std::string(kGateUp) + "_bias",
       {"2 experts of 4 rows", "8 numbers"}},
      {"BankIsPlausibleBothWays", bank(kGateUp, {2, 8, 8}, {2, 1, 8}), kGateUp, {"both explain every tensor"}},
      {"BankHasThreeGlobals",
       ModelBuilder()
           .bytes(kGateUp, DType::kU8, {2, 8, 4}, {test::kOnes})
           .bytes(std::string(kGateUp) + "_weight_scale", DType::kF8E4M3, {2, 1, 4}, {test::kTwo})
           .numbers(std::string(kGateUp) + "_weight_scale_2", DType::kF32, {3}, {0.25f}),
       std::string(kGateUp) + "_weight_scale_2",
       {"one for each expert"}},
      {"OnePartHasTwoGlobals",
       ModelBuilder()
           .bytes(kDown, DType::kU8, {2, 8, 4}, {test::kOnes})
           .bytes(std::string(kDown) + "_weight_scale", DType::kF8E4M3, {2, 1, 4}, {test::kTwo})
           .numbers(std::string(kDown) + "_weight_scale_2", DType::kF32, {2, 2}, {0.25f, 0.5f, 1, 2}),
       std::string(kDown) + "_weight_scale_2",
       {"one for each of 2 experts"}},
      {"BankScalesAreOfNoAxis",
       bank(kGateUp, {2, 8, 4}, {2, 4, 4}),
       std::string(kGateUp) + "_weight_scale",
       {"1 scales"}},
      {"BankIsAMatrix", bank(kGateUp, {16, 4}, {2, 4}), kGateUp, {"[experts, rows, columns]"}},
      {"PartsCutABlock",
       with_config(ModelBuilder()
                       .bytes(kGateUp, DType::kF8E4M3, {2, 192, 128}, {test::kOne})
                       .numbers(std::string(kGateUp) + "_scale_inv", DType::kF32, {2, 2, 1}, {0.5f}),
                   R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"),
       kGateUp,
       {"within a block of 128 rows"}},
      {"AMatrixStandsTwice",
       ModelBuilder()
           .numbers(kGateUp, DType::kBf16, {2, 4, 8}, {1})
           .numbers(std::string(kExperts) + "1.up_proj.weight", DType::kBf16, {2, 8}, {1}),
       kGateUp,
       {std::string(kExperts) + "1.up_proj stands twice"}},
      {"AnExpertIsFarAway",
       ModelBuilder()
           .numbers(std::string(kExperts) + "0.up_proj.weight", DType::kBf16, {2, 8}, {1})
           .numbers(std::string(kExperts) + "999999.up_proj.weight", DType::kBf16, {2, 8}, {1}),
       std::string(kExperts) + "1.up_proj",
       {"is missing", "16 more problems"}},
      {"WeightHasFourAxes",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kU8, {2, 2, 2, 16}, {test::kOnes})
           .bytes(std::string(kQ) + ".weight_scale", DType::kF8E4M3, {2, 2, 2, 2}, {test::kTwo})
           .numbers(std::string(kQ) + ".weight_scale_2", DType::kF32, {}, {0.25f}),
       std::string(kQ) + ".weight",
       {"a matrix, or a bank"}},
  };
}

std::vector<Case> folder_cases() {
  return {
      {"DeepseekScalesAreCut",
       fp8(kQ, 256, 256).bytes(std::string(kQ) + ".scale", DType::kF8E8M0, {2, 1}, {127}),
       std::string(kQ) + ".scale",
       {"2 x 2 scales"}},
      {"DeepseekExpertsHaveF32Scales",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kI8, {4, 32}, {test::kOnes})
           .numbers(std::string(kQ) + ".scale", DType::kF32, {4, 2}, {1}),
       std::string(kQ) + ".scale",
       {"mxfp4 scales are F8_E8M0 U8"}},
      {"MinimaxScalesAreOfSixteen",
       fp8(kQ, 2, 64).bytes(std::string(kQ) + ".weight_scale_inv", DType::kU8, {2, 4}, {127}),
       std::string(kQ) + ".weight_scale_inv",
       {"2 x 2 scales"}},
      {"MistralHasThreeScales",
       fp8(kQ, 256, 256).numbers(std::string(kQ) + ".qscale_weight", DType::kF32, {3}, {1}),
       std::string(kQ) + ".qscale_weight",
       {"1 x 1 scales"}},
      {"FineGrainedScalesAreCut",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kI8, {2, 16}, {test::kOnes})
           .bytes(std::string(kQ) + ".weight_scale_inv", DType::kF8E4M3, {2, 3}, {test::kTwo}),
       std::string(kQ) + ".weight_scale_inv",
       {"2 x 2 scales"}},
      {"FbgemmHasAScaleTooMany",
       with_config(fp8(kQ).numbers(std::string(kQ) + ".weight_scale", DType::kF32, {5, 1}, {1}),
                   R"({"quant_method": "fbgemm_fp8"})"),
       std::string(kQ) + ".weight_scale",
       {"[5, 1]"}},
      {"AutoRoundLacksItsGlobal",
       with_config(ModelBuilder()
                       .bytes(std::string(kQ) + ".weight_packed", DType::kU8, {2, 8}, {test::kOnes})
                       .bytes(std::string(kQ) + ".weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo}),
                   R"({"quant_method": "auto-round", "data_type": "nv_fp"})"),
       std::string(kQ) + ".weight_global_scale",
       {"missing"}},
      {"QuarkHasSixBits",
       with_config(ModelBuilder()
                       .bytes(std::string(kQ) + ".weight", DType::kU8, {2, 24}, {test::kOnes})
                       .bytes(std::string(kQ) + ".weight_scale", DType::kU8, {2, 1}, {127}),
                   R"({"quant_method": "quark"})"),
       kQ,
       {"MXFP6", "fp6_e3m2"}},
      {"MlxIsAffine",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kU32, {2, 4}, {test::kOnes})
           .numbers(std::string(kQ) + ".scales", DType::kBf16, {2, 1}, {1})
           .numbers(std::string(kQ) + ".biases", DType::kBf16, {2, 1}, {1}),
       kQ,
       {"integers"}},
      {"MlxScalesAreCut",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kU32, {2, 8}, {test::kOnes})
           .bytes(std::string(kQ) + ".scales", DType::kU8, {2, 3}, {127}),
       std::string(kQ) + ".scales",
       {"scales"}},
      {"GlobalIsAText",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kU8, {2, 8}, {test::kOnes})
           .bytes(std::string(kQ) + ".weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo})
           .bytes(std::string(kQ) + ".weight_scale_2", DType::kU8, {4}, {'1'}),
       std::string(kQ) + ".weight_scale_2",
       {"wanted F32"}},
      {"GlobalIsEmpty",
       ModelBuilder()
           .bytes(std::string(kQ) + ".weight", DType::kU8, {2, 8}, {test::kOnes})
           .bytes(std::string(kQ) + ".weight_scale", DType::kF8E4M3, {2, 1}, {test::kTwo})
           .bytes(std::string(kQ) + ".weight_scale_2", DType::kF32, {0}, {}),
       std::string(kQ) + ".weight_scale_2",
       {"wanted one number"}},
  };
}

class HostileDialect : public testing::TestWithParam<Case> {};

TEST_P(HostileDialect, IsAnErrorThatSaysWhatWasWanted) {
  const Case& c = GetParam();
  const test::TemporaryFolder folder;
  c.model.write(folder / "model");
  const Error e = test::refusal_of(folder / (c.single_file ? "model/model.safetensors" : "model"));
  EXPECT_EQ(e.tensor(), c.tensor) << e.what();
  for (const std::string& word : c.words) EXPECT_TRUE(test::has(e.what(), word)) << word << "\n" << e.what();
}

const auto kNameOf = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Comfy, HostileDialect, testing::ValuesIn(comfy_cases()), kNameOf);
INSTANTIATE_TEST_SUITE_P(SingleFile, HostileDialect, testing::ValuesIn(single_file_cases()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Blocks, HostileDialect, testing::ValuesIn(block_cases()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Bank, HostileDialect, testing::ValuesIn(bank_cases()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Folder, HostileDialect, testing::ValuesIn(folder_cases()), kNameOf);

// What looks like a part of a quantized weight, and is none: the marker alone, and norms whose weight is called scale.
TEST(HarmlessNames, AreNoProblem) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .bytes("scaled_fp8", DType::kF8E4M3, {0}, {})
      .numbers("norm.scale", DType::kBf16, {8}, {1})
      .numbers("block.0.attn.norm.scale", DType::kF32, {8}, {1})
      .write(folder / "model");
  for (const char* path : {"model", "model/model.safetensors"}) {
    const Checkpoint model = Checkpoint::open(folder / path);
    EXPECT_NO_THROW(model.require_usable());
    EXPECT_TRUE(model.modules().empty() && model.problems().empty());
    EXPECT_EQ(model.place(*model.container().find("scaled_fp8")).role, Role::kMarker);
  }
}

// Weights without rows or columns are weights.
TEST(EmptyWeights, Load) {
  const test::TemporaryFolder folder;
  ModelBuilder()
      .bytes("a.q.weight", DType::kF8E4M3, {0, 32}, {})
      .bytes("a.q.weight_scale", DType::kU8, {0, 1}, {})
      .bytes("b.q.weight", DType::kU8, {4, 0}, {})
      .bytes("b.q.weight_scale", DType::kF8E4M3, {4, 0}, {})
      .numbers("b.q.weight_scale_2", DType::kF32, {}, {0.5f})
      .write(folder / "model");
  const Checkpoint model = Checkpoint::open(folder / "model");
  model.require_usable();
  for (const char* m : {"a.q", "b.q"}) EXPECT_TRUE(test::values_of(model, m).empty()) << m;
}

}  // namespace
}  // namespace tessera
