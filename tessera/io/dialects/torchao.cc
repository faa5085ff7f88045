#include "tessera/io/dialects/torchao.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::dialects {
namespace {

// {"_type": type, "_data": data}, as its metadata says enumerations, dtypes and classes.
Json typed(std::string_view type, Json data) {
  Json json;
  json.set("_type", type);
  json.set("_data", std::move(data));
  return json;
}

bool is_true(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

std::string_view element_name(const Format& f) {
  return f.element == kE4M3 ? "float8_e4m3fn" : f.element == kE5M2 ? "float8_e5m2" : "float4_e2m1fn_x2";
}

// The class and attributes of one weight.
Json metadata_of(const WrittenModule& m, const std::string& dtype) {
  const std::string_view family = format_family(m.format);
  Json data, parts = JsonArray{"qdata", "scale"};
  std::string_view type = "Float8Tensor";
  if (family == "NVFP4") {
    type = "NVFP4Tensor";
    parts.push("per_tensor_scale");
    if (m.activation == ActivationScheme::kStatic) parts.push("act_per_tensor_scale");
    data.set("is_swizzled_scales", true);
    data.set("use_triton_kernel", false);
    data.set("act_quant_kwargs", nullptr);
    data.set("block_size", m.format.block.cols);
    data.set("orig_dtype", typed("torch.dtype", dtype));
  } else if (family != "FP8") {
    type = "MXTensor";
    data.set("elem_dtype", typed("torch.dtype", element_name(m.format)));
    data.set("block_size", m.format.block.cols);
    data.set("orig_dtype", typed("torch.dtype", dtype));
    data.set("kernel_preference", typed("KernelPreference", "AUTO"));
    data.set("act_quant_kwargs", nullptr);
    data.set("is_swizzled_scales", true);
  } else {
    const Block b = block_in(m.format, m.extent);
    data.set("block_size", JsonArray{b.rows, b.cols});
    data.set("mm_config", nullptr);
    data.set("act_quant_kwargs", nullptr);
    data.set("kernel_preference", typed("KernelPreference", "AUTO"));
    data.set("dtype", typed("torch.dtype", dtype));
  }
  Json json = typed(type, std::move(data));
  json.set("_tensor_data_names", std::move(parts));
  return json;
}

Json config_of(const Format& f) {
  Json data = JsonObject{};
  std::string_view type = "Float8WeightOnlyConfig";
  const std::string_view family = format_family(f);
  if (family == "NVFP4") {
    type = "NVFP4WeightOnlyConfig";
  } else if (family != "FP8") {
    type = "MXDynamicActivationMXWeightConfig";
    data.set("activation_dtype", typed("torch.dtype", element_name(f)));
    data.set("block_size", f.block.cols);
    data.set("weight_dtype", typed("torch.dtype", element_name(f)));
  }
  Json config = typed(type, std::move(data));
  config.set("_version", 1);
  return config;
}

}  // namespace

std::unique_ptr<Declaration> read_torchao(const ModelConfig& config) {
  const Json* q = quantization_by(config, "torchao");
  if (q == nullptr) return nullptr;
  auto declaration = std::make_unique<UniformDeclaration>(
      "torchao", "torchao", *q,
      DeclaredScheme{
          .label = "torchao", .family = "", .activation = ActivationScheme::kStatic});  // where one is stored
  declaration->exclude(q->find("modules_to_not_convert"));
  declaration->names_modules = false;  // which layers its configuration takes depends on their classes
  return declaration;
}

std::optional<Claim> claim_torchao(std::string_view module, const ModuleTensors& tensors, const Evidence& evidence) {
  const auto weight = tensors.find("_weight_qdata"), bank = tensors.find("_qdata");
  if (weight == tensors.end() && bank == tensors.end()) return {};
  const StoredTensor& codes = *(weight != tensors.end() ? weight : bank)->second;
  const std::string name = weight != tensors.end() ? fmt::format("{}.weight", module) : std::string(module);
  Claim claim;
  const auto text = evidence.config.metadata.find(name);
  if (text == evidence.config.metadata.end()) {
    claim.refusal =
        fmt::format("the file's metadata says nothing of {}, so the order of its block scales is not known", name);
    return claim;
  }
  try {
    const Json json = parse_json(text->second);
    require(json.is_object(), Errc::kCorrupt, "the metadata '{}' holds no JSON object", name);
    const std::string type = json.string_or("_type", "");
    const Json* data = json.find("_data");
    if ((type != "NVFP4Tensor" && type != "MXTensor" && type != "Float8Tensor") || data == nullptr ||
        !data->is_object()) {
      claim.refusal = fmt::format("the file's metadata says that it is a '{}', which Tessera does not read", type);
      return claim;
    }
    // Underscores before the names of attributes went in 2026-02.
    const bool tiles = is_true(*data, "is_swizzled_scales") || is_true(*data, "_is_swizzled_scales");
    claim.scale_order = tiles ? GridOrder::kTiles : GridOrder::kRows;
  } catch (Error& e) {
    e.in_tensor(codes.name).add_note(fmt::format("reading the metadata '{}'", name));
    throw;
  }
  return claim;
}

void write_torchao(const WrittenModel& model, ModelConfig& config) {
  require(!model.quantized.empty(), Errc::kInvalid, "torchao's files hold quantized weights");
  const Format& format = model.quantized[0].format;
  const bool mixed = std::any_of(model.quantized.begin(), model.quantized.end(),
                                 [&](const WrittenModule& m) { return m.format != format; });
  const std::string dtype = config.config.is_object()
                                ? config.config.string_or("dtype", config.config.string_or("torch_dtype", "bfloat16"))
                                : "bfloat16";
  Json names = JsonArray{};
  for (const std::string& name : model.plain) {
    names.push(name);
    config.metadata.insert_or_assign(name, R"({"_type": "Tensor"})");
  }
  for (const WrittenModule& m : model.quantized) {
    names.push(m.name + ".weight");
    config.metadata.insert_or_assign(m.name + ".weight", metadata_of(m, dtype).dump());
  }
  config.metadata.insert_or_assign("tensor_names", names.dump());
  if (!config.config.is_object()) return;
  Json q, kinds, dense = JsonArray{};
  for (const std::string& name : model.dense) dense.push(name);
  if (mixed) {
    Json by_name = JsonObject{}, data;
    for (const WrittenModule& m : model.quantized) by_name.as_object().emplace_back(m.name, config_of(m.format));
    data.set("fqn_to_config", std::move(by_name));
    kinds.set("default", typed("FqnToConfig", std::move(data))).set("_version", 1);
  } else {
    kinds.set("default", config_of(format));
  }
  q.set("modules_to_not_convert", std::move(dense));
  q.set("quant_method", "torchao");
  q.set("quant_type", std::move(kinds));
  config.config.set("quantization_config", std::move(q));
}

}  // namespace tessera::dialects
