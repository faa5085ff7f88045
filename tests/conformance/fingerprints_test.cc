// Who wrote a file, from its bytes alone: every exporter's own files are attributed to it, or to a set that holds it
// and is listed here. Configuration files say it too, and are not read for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "tessera/base/error.h"
#include "tessera/io/grid.h"
#include "tessera/weights/fingerprint.h"
#include "tests/support/fixture.h"

namespace tessera {
namespace {

std::string data(const std::string& path) { return std::string(TESSERA_TEST_DATA) + "/" + path; }

std::vector<std::string> names_of(std::span<const Attribution> attributions) {
  std::vector<std::string> names;
  for (const Attribution& a : attributions) names.emplace_back(a.exporter->name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data("checkpoints/quantized")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string exporter_of(const std::string& name) {
  const std::map<std::string, std::string> exporters{{"autoround", "auto-round"}, {"comfy", "comfy-kitchen"},
                                                     {"ct", "llm-compressor"},    {"gptoss", "gpt-oss"},
                                                     {"gguf", "llama.cpp"},       {"llmcompressor", "llm-compressor"},
                                                     {"te", "transformer-engine"}};
  const std::string stem = name.substr(0, name.find_first_of("-_"));
  const auto it = exporters.find(stem);
  return it == exporters.end() ? stem : it->second;
}

// Of these more than one exporter may have written the bytes; all others are attributed to one. FP8 has no block of
// zeros to look at, and other signs of its exporters (names, dtypes and axes of scales) are shared by two or three.
std::map<std::string, std::string> sets() {
  return {// No code of -0 in either; the scales have the dtype of the model.
          {"autoround-llama-FP8_STATIC-llm_compressor", "auto-round llm-compressor"},
          {"llmcompressor-llama_wide-FP8_BLOCK", "auto-round llm-compressor"},
          {"llmcompressor-mini-FP8_DYNAMIC", "auto-round llm-compressor"},
          // The exponents of MXFP8 are the same but at maxima of 1.75 times a power of two.
          {"llmcompressor-llama_tied-MXFP8", "llm-compressor modelopt"},
          {"llmcompressor-mini-MXFP8", "llm-compressor modelopt"},
          {"modelopt-qwen2-FP8_PER_CHANNEL", "modelopt quark"},
          {"modelopt-qwen3-FP8-kv", "modelopt quark"},
          {"transformers-qwen3-fp8-block32-ue8m0", "deepseek transformers"},
          {"transformers-qwen3_5_moe-fp8-block32", "deepseek transformers"}};
}

TEST(Fingerprints, OfCheckpointsHoldTheirExporter) {
  const std::map<std::string, std::string> expected_sets = sets();
  for (const std::string& name : folders()) {
    const FingerprintReport report =
        take_fingerprint(Checkpoint::open(data("checkpoints/quantized/" + name)), kFingerprintBytes);
    const std::vector<std::string> found = names_of(report.exporters);
    EXPECT_NE(std::find(found.begin(), found.end(), exporter_of(name)), found.end())
        << name << ": " << fmt::format("{}", fmt::join(found, ", "));
    const auto it = expected_sets.find(name);
    const std::string expected = it == expected_sets.end() ? exporter_of(name) : it->second;
    EXPECT_EQ(fmt::format("{}", fmt::join(found, " ")), expected) << name;
  }
}

TEST(Fingerprints, OfSingleFilesHoldTheirExporter) {
  for (const char* name : {"comfy_ltx2_nvfp4", "comfy_wan_nvfp4", "comfy_wan_mxfp8", "comfy_wan_float8_e4m3fn",
                           "modelopt_ltx2_rows", "modelopt_ltx2_tiles"}) {
    const FingerprintReport report =
        take_fingerprint(Checkpoint::open(data(fmt::format("single_file/{}.safetensors", name))), kFingerprintBytes);
    EXPECT_EQ(names_of(report.exporters), std::vector<std::string>{exporter_of(name)}) << name;
  }
}

// The vectors of the exporters' own code: names apart, so more exporters fit. (Transformer Engine's are of training,
// and llama.cpp's blocks are their container's.)
struct Vectors {
  const char* file;
  Format format;
  const char* mode = "";
  bool high_first = false, tiled = false;
  Sense sense = Sense::kMultiply;
};

std::vector<Vectors> vectors() {
  const Format nvfp4 = find_format("nvfp4"), mxfp4 = find_format("mxfp4"), mxfp8 = find_format("mxfp8"),
               fp8 = find_format("fp8"), channel = find_format("fp8_channel"), block = find_format("fp8_block");
  return {{"ct_nvfp4", nvfp4},
          {"ct_mxfp4", mxfp4},
          {"ct_mxfp8", mxfp8},
          {"ct_fp8_tensor", fp8},
          {"ct_fp8_channel", channel},
          {"ct_fp8_block", block},
          {"modelopt_nvfp4", nvfp4},
          {"modelopt_nvfp4_static", nvfp4},
          {"modelopt_nvfp4_four_over_six", nvfp4},
          {"modelopt_mxfp4", mxfp4},
          {"modelopt_mxfp8", mxfp8},
          {"modelopt_fp8_tensor", fp8},
          {"modelopt_fp8_channel", channel},
          {"torchao_nvfp4", nvfp4},
          {"torchao_mx_e2m1", mxfp4, "floor_"},
          {"torchao_mx_e2m1", mxfp4, "ceil_"},
          {"torchao_mx_e2m1", mxfp4, "even_"},
          {"torchao_mx_e2m1", mxfp4, "rceil_"},
          {"torchao_mx_e4m3", mxfp8, "floor_"},
          {"torchao_float8_tensor", fp8},
          {"torchao_float8_row", channel},
          {"autoround_nvfp4", nvfp4},
          {"autoround_mxfp4", mxfp4},
          {"autoround_mxfp4_rceil", mxfp4},
          {"autoround_mxfp8", mxfp8},
          {"autoround_fp8_tensor", fp8},
          {"autoround_fp8_channel", channel},
          {"quark_nvfp4", nvfp4},
          {"quark_mxfp4_even", mxfp4},
          {"quark_mxfp4_floor", mxfp4},
          {"quark_mxfp4_ceil", mxfp4},
          {"quark_fp8_tensor", fp8},
          {"comfy_nvfp4", nvfp4, "", true, true},
          {"comfy_mxfp8", mxfp8, "", false, true},
          {"comfy_fp8_tensor", fp8},
          {"transformers_fp8_128x128", block}};
}

// One case as a weight; nothing where the exporter refused it.
std::optional<QuantizedTensor> weight_of(const test::Fixture& f, const std::string& name, const Vectors& v) {
  const std::string mode = std::string(".") + v.mode;
  if (!f.has(name + mode + "codes") || !f.has(name + mode + "scales")) return {};
  const Tensor &input = f.at(name + ".input"), codes = f.at(name + mode + "codes"),
               scales = f.at(name + mode + "scales");
  QuantizedTensor q = empty_quantized(v.format, {input.shape()[0], input.shape()[1]});
  const std::int64_t width = row_bytes(v.format, q.extent.cols), stored_width = codes.shape().back();
  for (std::int64_t r = 0; r < q.extent.rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      const std::uint8_t byte = codes.as<std::uint8_t>()[r * stored_width + c];
      q.codes.as<std::uint8_t>()[r * width + c] =
          v.high_first ? static_cast<std::uint8_t>(byte << 4 | byte >> 4) : byte;
    }
  const Extent grid = scale_extent(v.format, q.extent);
  if (q.scales.dtype() == DType::kU8) {
    const Grid from{.order = v.tiled ? GridOrder::kTiles : GridOrder::kRows,
                    .stored = v.tiled ? Extent{round_up(grid.rows, 128), round_up(grid.cols, 4)} : grid};
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (std::int64_t c = 0; c < grid.cols; ++c)
        q.scales.as<std::uint8_t>()[r * grid.cols + c] = scales.as<std::uint8_t>()[from.index(r, c)];
  } else {
    q.stored_scale = scales.dtype();
  }
  if (v.format.has_global && f.has(name + mode + "global"))
    q.global.as<float>()[0] = element_as_float(f.at(name + mode + "global"), 0);
  return q;
}

// Everything but what shows an exporter's accidents beyond f32's normal range.
bool is_ordinary(const std::string& name) {
  for (const char* kind : {"range", "inf", "nan", "log2"})
    if (name.starts_with(kind)) return false;
  return true;
}

constexpr std::array<std::string_view, 6> kProved{"auto-round", "comfy-kitchen", "llm-compressor",
                                                  "modelopt",   "quark",         "torchao"};
// Without names two of them may fit. Exponents rounded down and to even leave the same largest codes; torchao's zeros
// have the signs that the weights had, and Model Optimizer's are all -0; before its change #1397 scales of it were 0
// too.
std::map<std::string, std::string> vector_sets() {
  return {{"ct_mxfp4", "llm-compressor torchao"},
          {"modelopt_mxfp4", "modelopt torchao"},
          {"torchao_mx_e2m1 floor_", "llm-compressor torchao"},
          {"torchao_mx_e2m1 even_", "llm-compressor torchao"},
          {"comfy_nvfp4", "comfy-kitchen modelopt"}};
}

TEST(Fingerprints, OfVectorsHoldTheirExporter) {
  const std::map<std::string, std::string> expected_sets = vector_sets();
  for (const Vectors& v : vectors()) {
    const test::Fixture f = test::read_fixture(fmt::format("numerics/{}.safetensors", v.file));
    std::map<DType, Traits> traits;  // by the dtype of the weights
    for (const std::string& name : f.cases()) {
      if (!is_ordinary(name)) continue;
      const std::optional<QuantizedTensor> q = weight_of(f, name, v);
      if (!q) continue;
      Traits& t = traits[f.at(name + ".input").dtype()];
      t.family = format_family(v.format);
      t.source = f.at(name + ".input").dtype();
      if (q->scales.dtype() == DType::kF32) t.scale_dtypes.insert(q->stored_scale);
      t.add(*q);
    }
    ASSERT_FALSE(traits.empty()) << v.file;
    for (const auto& [source, t] : traits) {
      const std::vector<std::string> found = names_of(attribute(std::span(&t, 1)));
      EXPECT_NE(std::find(found.begin(), found.end(), exporter_of(v.file)), found.end())
          << v.file << " " << v.mode << " " << dtype_name(source) << ": " << fmt::format("{}", fmt::join(found, ", "));
      if (v.format.element != kE2M1) continue;
      // Of the exporters whose rules for zeros the vectors prove, those that fit.
      std::string proved;
      for (const std::string& name : found)
        if (std::find(kProved.begin(), kProved.end(), name) != kProved.end())
          proved += (proved.empty() ? "" : " ") + name;
      const std::string key = *v.mode == 0 ? v.file : fmt::format("{} {}", v.file, v.mode);
      const auto it = expected_sets.find(key);
      // In BF16 the globals of comfy-kitchen tell it from Model Optimizer.
      const bool whole = proved == exporter_of(v.file);
      EXPECT_TRUE(whole || (it != expected_sets.end() && proved == it->second)) << key << ": " << proved;
    }
  }
}

}  // namespace
}  // namespace tessera
