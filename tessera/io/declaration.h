// What a model's configuration files claim about its quantization: hints for what tensors leave open, contradictions to
// report, and what we write ourselves.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/numeric/format.h"
#include "tessera/numeric/writer.h"

namespace tessera {

// The configuration files of a model folder, and the quantization parts found in them. `source` names the file of each.
struct ModelConfig {
  Json config;                                               // config.json, an object or null
  Json sidecar;                                              // hf_quant_config.json
  std::map<std::string, std::string, std::less<>> metadata;  // safetensors' __metadata__, of the first file that has it

  // quantization_config, where it stands: at the top, in text_config, or as compression_config. Null where there is
  // none.
  const Json* quantization() const;
  // A number of the model ("num_experts"), at the top or in text_config.
  std::optional<std::int64_t> number(std::string_view key) const;
};
ModelConfig read_model_config(const std::string& folder);  // kCorrupt names the file

enum class ActivationScheme : std::uint8_t { kNone, kDynamic, kStatic };
std::string_view activation_name(ActivationScheme scheme);

struct DeclaredScheme {
  std::string label;             // in the dialect's words: "NVFP4", "FP8", "float-quantized"
  std::string family;            // "NVFP4", "MXFP4", "MXFP8", "FP8"; "": one that Tessera does not know
  std::optional<Block> block{};  // of block FP8
  ActivationScheme activation = ActivationScheme::kNone;
  std::optional<Sense> sense{};  // where the exporter decodes in an order of its own (AutoRound)
};

class Declaration {
 public:
  virtual ~Declaration() = default;
  std::string dialect;   // whose declaration this is
  std::string where;     // "config.json"
  std::string exporter;  // "llm-compressor", "modelopt", ""
  std::string version;
  Json text;  // the part of the file that was read

  std::optional<Block> block;  // of block FP8, for every module, whatever is claimed of it
  bool names_modules = true;   // false: it says of no module how it is quantized, so silence is no claim either

  // What is claimed of a module: nothing where it is excluded, or not mentioned.
  virtual std::optional<DeclaredScheme> scheme_of(std::string_view module) const = 0;
};

// One scheme for every module but those that are listed: by a part of the dotted name ("gate" is "mlp.gate" and not
// "mlp.gate_proj"), several, or a shell pattern.
class UniformDeclaration final : public Declaration {
 public:
  UniformDeclaration(std::string_view of, std::string_view by, const Json& json, DeclaredScheme scheme);
  void exclude(const Json* names);  // a list; null or another value: nothing
  std::optional<DeclaredScheme> scheme_of(std::string_view module) const override;

 private:
  DeclaredScheme scheme_;
  std::vector<std::string> excluded_;
};
// quantization_config where its quant_method is this one; null otherwise.
const Json* quantization_by(const ModelConfig& config, std::string_view quant_method);

// The word that declarations and problems use for a format's kind: "NVFP4", "MXFP8", "FP8"; "" of a dense one.
std::string_view format_family(const Format& format);

// What is declared of a model that we write.
struct WrittenModule {
  std::string name;
  Format format;
  ActivationScheme activation = ActivationScheme::kNone;
  Extent extent{};
};
enum class CacheScales : std::uint8_t { kAbsent, kPresent };  // scales of the KV cache beside the weights
struct WrittenModel {
  std::vector<WrittenModule> quantized;  // sorted by name
  std::vector<std::string> dense;        // linear layers that stay as they are, sorted
  CacheScales cache_scales = CacheScales::kAbsent;
  std::vector<std::string> plain{};  // every tensor that is written as it stands
};

}  // namespace tessera
