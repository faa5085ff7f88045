// LanguageModel: predicts the next token. What is the same for all of them: the inputs and outputs of two graphs.
//
//   trunk   inputs "ids" and "positions", [rows, 1] I32; states "cache.0" ... one a layer; outputs "hidden", and
//           "hidden.I" where they are asked for: the embedding, then what each layer gives, the last one normed
//   head    input "hidden"; output "logits", [rows, vocabulary] F32
// Rows are tokens, of any sequences.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/kernels/kv_page.h"
#include "tessera/nn/module.h"

namespace tessera::models {

enum class HiddenStates : std::uint8_t { kLast, kAll };

struct LanguageShape {
  std::int64_t vocabulary = 0, width = 0, layers = 0, longest = 0;  // longest: max_position_embeddings
  std::int64_t kv_heads = 0, head_width = 0;
};

class LanguageModel : public nn::Module {
 public:
  virtual const LanguageShape& shape() const = 0;
  // The parameters that a checkpoint holds, named as it names them.
  virtual std::vector<Param*> params() = 0;
  virtual void trunk(graph::Graph& g, DType compute, HiddenStates hidden) const = 0;
  virtual void head(graph::Graph& g, DType compute) const = 0;
  // The module that caches layer i's keys and values: "model.layers.0.self_attn".
  virtual std::string attention_name(std::int64_t layer) const = 0;
  // Tensors that checkpoints of this model may carry and that are of no use.
  virtual bool may_be_extra(std::string_view tensor) const = 0;
};

// A family: models that one class builds, by the names that configurations give them. One file each in
// models/*/family/.
struct ModelFamily {
  std::string_view name;
  std::span<const std::string_view> architectures;  // config.json's "architectures"
  // config: of the model. `has`: whether the checkpoint has a tensor of this name. Throws kInvalid, kUnsupported.
  std::unique_ptr<LanguageModel> (*make)(const Json& config, const std::function<bool(std::string_view)>& has);
};

std::span<const ModelFamily* const> all_families();
// By config.json's "architectures". Throws kUnsupported, listing those that there are; kNotFound where none is named.
const ModelFamily& find_family(const Json& config);

}  // namespace tessera::models
