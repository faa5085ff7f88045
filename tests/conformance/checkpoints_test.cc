// Whole checkpoints by the real exporters: decoded values, the exporters' bytes from the original weights, conversions
// each way and back, and edited files with the outcome that the project decided. Fixtures:
// tests/data/checkpoints/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/spelled.h"
#include "tessera/weights/verify_checkpoint.h"
#include "tests/support/fixture.h"
#include "tests/support/sha256.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

std::string data(const std::string& path) { return std::string(TESSERA_TEST_DATA) + "/checkpoints/" + path; }

std::vector<std::string> folders(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data(kind)))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

Json read_json(const std::string& folder, std::string_view name) { return parse_json(read_side_file(folder, name)); }

std::string canonical(std::string name) {  // of a module, or of its weight: prefixes and ".weight" aside
  if (name.ends_with(".weight")) name.resize(name.size() - 7);
  if (const std::size_t at = name.find("language_model."); at != std::string::npos) name.erase(at, 15);
  return name;
}

// A bank's experts put together as its model has them unquantized.
Tensor bank_values(Stream& stream, const Checkpoint& model, const Bank& bank) {
  Tensor all(DType::kF32, {bank.experts * bank.extent.count()});
  for (std::int64_t e = 0; e < bank.experts; ++e)
    for (const BankPart& part : bank.parts) {
      const Module& m = *model.find(expert_module(bank.name, e, part.name));
      const Tensor values = dequantize(stream, model.load(m));
      for (std::int64_t r = 0; r < part.rows; ++r)
        for (std::int64_t c = 0; c < bank.extent.cols; ++c) {
          const std::int64_t row = part.first_row + r * part.row_step;
          const std::int64_t at = bank.dense_transposed ? c * bank.extent.rows + row : row * bank.extent.cols + c;
          all.as<float>()[e * bank.extent.count() + at] = values.as<float>()[r * bank.extent.cols + c];
        }
    }
  return all;
}

// Every weight that the exporter's own decoder read back, against ours.
void expect_values(const Checkpoint& model, const Json& expected, bool by_value = false) {
  Stream stream(kCpu, 1);
  std::map<std::string, const Module*> modules;
  for (const Module& m : model.modules()) modules[canonical(m.name)] = &m;
  std::size_t checked = 0;
  for (const auto& [name, facts] : expected.find("weights")->as_object()) {
    if (const Bank* bank = model.find_bank(name)) {
      ++checked;
      EXPECT_EQ(test::sha256_hex(bank_values(stream, model, *bank).span()), facts.find("sha256_f32")->as_string())
          << name;
      continue;
    }
    const auto it = modules.find(canonical(name));
    ASSERT_NE(it, modules.end()) << name << " is no module";
    if (!it->second->is_quantized()) continue;
    ++checked;
    if (by_value) continue;
    const Tensor values = dequantize(stream, model.load(*it->second));
    EXPECT_EQ(test::sha256_hex(values.span()), facts.find("sha256_f32")->as_string()) << name;
  }
  EXPECT_GT(checked, 0u);
}

class Exporter : public testing::TestWithParam<std::string> {};

TEST_P(Exporter, ValuesAreItsOwn) {
  const std::string folder = data("quantized/" + GetParam());
  const Checkpoint model = Checkpoint::open(folder);
  model.require_usable();
  expect_values(model, read_json(folder, "expected.json"));
}

// "llmcompressor-mini_moe-mixed-FP8-NVFP4" was made from bf16/mini_moe.
std::string source_of(const std::string& name) {
  const std::size_t first = name.find('-'), second = name.find('-', first + 1);
  const std::string source = data("bf16/" + name.substr(first + 1, second - first - 1));
  return std::filesystem::exists(source) ? source : "";
}

TEST_P(Exporter, BitsFollowFromTheOriginalWeights) {
  const std::string source = source_of(GetParam());
  if (source.empty()) GTEST_SKIP() << "its source is not kept";
  if (GetParam().starts_with("transformers-")) GTEST_SKIP() << "see TransformersRoundsToE4m3First";
  const Checkpoint model = Checkpoint::open(data("quantized/" + GetParam())), original = Checkpoint::open(source);
  Stream stream(kCpu, 1);
  const VerifyReport report = verify_checkpoint(stream, model, &original, {});
  EXPECT_TRUE(report.holds);
  // AutoRound's FP8 has codes from weights that were rounded before (docs/formats/writers.md).
  const bool foreign = GetParam().starts_with("autoround-") && GetParam().find("FP8") != std::string::npos;
  for (const ModuleVerdict& v : report.modules) {
    if (foreign)
      EXPECT_NE(v.verdict, Verdict::kWrong) << v.name;
    else
      EXPECT_EQ(v.verdict, Verdict::kExact) << v.name << ": " << (v.first_difference ? v.first_difference->part : "");
  }
}

// transformers 5.17 casts the parameter to E4M3 before it looks for maxima (measured here: every scale times 448 is an
// E4M3 number), so its bytes follow from the rounded weights, not from the original ones.
TEST_P(Exporter, TransformersRoundsToE4m3First) {
  if (!GetParam().starts_with("transformers-")) GTEST_SKIP() << "not written by transformers";
  const Checkpoint model = Checkpoint::open(data("quantized/" + GetParam())),
                   original = Checkpoint::open(source_of(GetParam()));
  Stream stream(kCpu, 1);
  for (const Module& m : model.modules()) {
    if (!m.is_quantized()) continue;
    const Tensor x = original.load_tensor(*original.find(m.name)->codes);
    Tensor rounded(DType::kF32, x.shape());
    for (std::int64_t i = 0; i < x.count(); ++i)
      rounded.as<float>()[i] = decode(kE4M3, encode(kE4M3, element_as_float(x, i)));
    const QuantizedTensor q = quantize(stream, rounded, {m.reading.format, &find_writer("transformers")}),
                          found = model.load(m);
    EXPECT_EQ(test::first_difference(q.codes.span(), found.codes.span()), -1) << m.name;
    EXPECT_EQ(test::first_difference(q.scales.span(), found.scales.span()), -1) << m.name;
  }
}

std::map<std::string, std::vector<std::byte>> all_bytes(const Checkpoint& model) {
  std::map<std::string, std::vector<std::byte>> bytes;
  for (const StoredTensor& t : model.container().tensors()) bytes[t.name] = model.container().read_all(t);
  return bytes;
}

// Law 7: decoded values survive into every dialect that can say the formats, and the bytes come back from there.
TEST_P(Exporter, ConvertsEachWayAndBack) {
  const Checkpoint model = Checkpoint::open(data("quantized/" + GetParam()));
  Stream stream(kCpu, 1);
  const Dialect* own = nullptr;
  for (const Module& m : model.modules())
    if (m.is_quantized()) own = m.reading.dialect;
  ASSERT_NE(own, nullptr);
  std::size_t converted = 0;
  for (const Dialect* target : all_dialects()) {
    const bool can = target->write_declaration != nullptr &&
                     std::all_of(model.modules().begin(), model.modules().end(), [&](const Module& m) {
                       return !m.is_quantized() || spell(*target, m.name, m.reading.format, m.reading.extent,
                                                         DType::kF32, experts_of(model, m));
                     });
    const test::TemporaryFolder folder;
    if (!can) {
      EXPECT_THROW(convert_checkpoint(stream, model, folder / "there", {.dialect = target}), Error) << target->name;
      EXPECT_FALSE(std::filesystem::exists(folder / "there")) << "half a model was left";
      continue;
    }
    ++converted;
    std::set<std::string> dropped;
    for (const ContainerWarning& w : convert_checkpoint(stream, model, folder / "there", {.dialect = target}).warnings)
      if (w.code == "activation_scale_dropped") dropped.insert(w.tensor);
    const Checkpoint there = Checkpoint::open(folder / "there", {.strict = true});
    there.require_usable();
    for (const Module& m : model.modules()) {
      if (!m.is_quantized()) continue;
      const Module* moved = there.find(m.name);
      ASSERT_NE(moved, nullptr) << m.name;
      EXPECT_EQ(moved->reading.dialect, target) << m.name;
      const Tensor before = dequantize(stream, model.load(m)), after = dequantize(stream, there.load(*moved));
      for (std::int64_t i = 0; i < before.count(); ++i)  // zeros by value: ModelOpt reads code 8 as +0
        ASSERT_EQ(before.as<float>()[i], after.as<float>()[i]) << target->name << " " << m.name << " " << i;
    }
    // A dialect that is only read has no way back; nor have banks that are stored transposed.
    const bool transposed = std::any_of(model.modules().begin(), model.modules().end(), [](const Module& m) {
      return m.is_quantized() && m.reading.spelling->transposed;
    });
    if (own->write_declaration == nullptr || transposed) continue;
    convert_checkpoint(stream, there, folder / "back", {.dialect = own});
    const Checkpoint back = Checkpoint::open(folder / "back");
    const auto before = all_bytes(model), after = all_bytes(back);
    for (const auto& [name, bytes] : before) {
      const auto it = after.find(name);
      // The report of the conversion says which activation scales the target has no place for.
      if (it == after.end() && dropped.contains(name)) continue;
      ASSERT_NE(it, after.end()) << name << " is lost by way of " << target->name;
      // E8M0 scales stand as f32 in dialects that have no bytes for them; the values came back, checked above.
      if (bytes.size() != it->second.size() && name.ends_with("weight_scale_inv")) continue;
      EXPECT_EQ(test::first_difference(bytes, it->second), -1) << name << " by way of " << target->name;
    }
    EXPECT_EQ(before.size(), after.size() + dropped.size());
  }
  EXPECT_GE(converted, 1u);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Exporter, testing::ValuesIn(folders("quantized")), test_name);

class Wild : public testing::TestWithParam<std::string> {};

Errc errc_of(const std::string& kind) {
  for (const auto& [name, code] : {std::pair{"kCorrupt", Errc::kCorrupt},
                                   {"kShape", Errc::kShape},
                                   {"kNotFound", Errc::kNotFound},
                                   {"kUnsupported", Errc::kUnsupported},
                                   {"kInvalid", Errc::kInvalid}})
    if (kind == name) return code;
  ADD_FAILURE() << kind;
  return Errc::kInvalid;
}

void load_everything(const std::string& folder, bool strict) {
  const Checkpoint model = Checkpoint::open(folder, {.strict = strict});
  model.require_usable();
  for (const Module& m : model.modules())
    if (m.is_quantized()) model.load(m);
}

void expect_error(const std::string& folder, bool strict, const Json& wanted) {
  try {
    load_everything(folder, strict);
    FAIL() << "it loads";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), errc_of(wanted.find("kind")->as_string())) << e.what();
    for (const Json& part : wanted.find("message_contains")->as_array())
      EXPECT_NE(std::string(e.what()).find(part.as_string()), std::string::npos) << e.what();
  }
}

TEST_P(Wild, HasTheDecidedOutcome) {
  const std::string folder = data("wild/" + GetParam());
  const Json wild = read_json(folder, "case.json");
  if (const Json* strict = wild.find("strict")) expect_error(folder, true, *strict);
  if (wild.find("expect")->as_string() == "error") return expect_error(folder, false, *wild.find("error"));
  load_everything(folder, false);
  const Checkpoint model = Checkpoint::open(folder);
  const bool own_values = std::filesystem::exists(folder + "/expected.json");
  expect_values(model, read_json(own_values ? folder : data(wild.find("base")->as_string()), "expected.json"),
                wild.find("compare") != nullptr);
  std::string warnings;
  for (const ContainerWarning& w : model.warnings()) warnings += w.message + "\n";
  for (const Json& word : wild.find("warn") != nullptr ? wild.find("warn")->as_array() : JsonArray{})
    EXPECT_NE(warnings.find(word.as_string()), std::string::npos) << word.as_string();
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Wild, testing::ValuesIn(folders("wild")), test_name);

}  // namespace
}  // namespace tessera
