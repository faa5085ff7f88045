// Llama and its cousins: RMS norms, grouped-query attention with rotary positions, a gated feed-forward layer.
// What tells the cousins apart is in Variant (family/): biases of q, k, v; norms of the heads of q and k.
// Source: Touvron et al., LLaMA (2023); configurations and tensor names of transformers.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/models/language_model.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/rms_norm.h"
#include "tessera/nn/rope_frequencies.h"

namespace tessera::models {

struct LlamaVariant {
  bool always_qkv_bias = false;  // otherwise `attention_bias` says it, for q, k, v and o
  bool has_head_norms = false;
};

struct LlamaConfig {
  LanguageShape shape{};
  std::int64_t heads = 0, feed_forward = 0;
  float eps = 1e-6f;
  std::string activation;
  bool is_tied = false, qkv_bias = false, output_bias = false, mlp_bias = false, has_head_norms = false;
  nn::RopeFrequencies rope;
};
// Throws kInvalid for a missing or senseless value, kUnsupported for what is not built (a sliding window).
LlamaConfig read_llama_config(const Json& config, const LlamaVariant& variant);

class LlamaAttention final : public nn::Module {
 public:
  explicit LlamaAttention(const LlamaConfig& config);
  void visit(nn::ModuleVisitor& v) override;
  // x: [rows, width]; angles: [rows, rotary]. Gives [rows, width].
  graph::Value operator()(graph::Graph& g, graph::Value x, graph::Value angles, graph::Value cache,
                          DType compute) const;

  nn::Linear q_proj, k_proj, v_proj, o_proj;
  std::unique_ptr<nn::RmsNorm> q_norm, k_norm;  // null where there are none

 private:
  std::int64_t heads_, kv_heads_, head_width_, rotary_;
};

class LlamaMlp final : public nn::Module {
 public:
  explicit LlamaMlp(const LlamaConfig& config);
  void visit(nn::ModuleVisitor& v) override;
  graph::Value operator()(graph::Graph& g, graph::Value x, DType compute) const;

  nn::Linear gate_proj, up_proj, down_proj;

 private:
  std::string activation_;
};

class LlamaLayer final : public nn::Module {
 public:
  explicit LlamaLayer(const LlamaConfig& config);
  void visit(nn::ModuleVisitor& v) override;

  nn::RmsNorm input_layernorm, post_attention_layernorm;
  LlamaAttention self_attn;
  LlamaMlp mlp;
};

class Llama final : public LanguageModel {
 public:
  // prefix: of the names, before "layers.0" ("model.").
  Llama(LlamaConfig config, std::string prefix);
  void visit(nn::ModuleVisitor& v) override;
  const LanguageShape& shape() const override { return config_.shape; }
  std::vector<Param*> params() override;
  void trunk(graph::Graph& g, DType compute, HiddenStates hidden) const override;
  void head(graph::Graph& g, DType compute) const override;
  std::string attention_name(std::int64_t layer) const override;
  bool may_be_extra(std::string_view tensor) const override;

 private:
  LlamaConfig config_;
  std::string prefix_;
  Param embed_tokens_;
  Param frequencies_;
  std::vector<std::unique_ptr<LlamaLayer>> layers_;
  nn::RmsNorm norm_;
  std::unique_ptr<nn::Linear> lm_head_;  // null: tied to the embedding
};

std::unique_ptr<LanguageModel> make_llama(const Json& config, const std::function<bool(std::string_view)>& has,
                                          const LlamaVariant& variant);

}  // namespace tessera::models
