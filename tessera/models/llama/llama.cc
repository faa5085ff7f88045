#include "tessera/models/llama/llama.h"

#include <array>
#include <cmath>

#include "tessera/graph/ops/activation.h"
#include "tessera/graph/ops/add.h"
#include "tessera/graph/ops/attention.h"
#include "tessera/graph/ops/embed.h"
#include "tessera/graph/ops/multiply.h"
#include "tessera/graph/ops/rope.h"
#include "tessera/graph/ops/rope_angles.h"
#include "tessera/graph/ops/slice.h"

namespace tessera::models {

using graph::Graph;
using graph::Value;
using nn::Bias;

LlamaAttention::LlamaAttention(const LlamaConfig& c)
    : q_proj(c.shape.width, c.heads * c.shape.head_width, c.qkv_bias ? Bias::kPresent : Bias::kNone),
      k_proj(c.shape.width, c.shape.kv_heads * c.shape.head_width, c.qkv_bias ? Bias::kPresent : Bias::kNone),
      v_proj(c.shape.width, c.shape.kv_heads * c.shape.head_width, c.qkv_bias ? Bias::kPresent : Bias::kNone),
      o_proj(c.heads * c.shape.head_width, c.shape.width, c.output_bias ? Bias::kPresent : Bias::kNone),
      heads_(c.heads),
      kv_heads_(c.shape.kv_heads),
      head_width_(c.shape.head_width),
      rotary_(c.rope.rotary()) {
  if (!c.has_head_norms) return;
  q_norm = std::make_unique<nn::RmsNorm>(head_width_, c.eps);
  k_norm = std::make_unique<nn::RmsNorm>(head_width_, c.eps);
}

void LlamaAttention::visit(nn::ModuleVisitor& v) {
  v.child("q_proj", q_proj);
  v.child("k_proj", k_proj);
  v.child("v_proj", v_proj);
  v.child("o_proj", o_proj);
  if (q_norm) v.child("q_norm", *q_norm);
  if (k_norm) v.child("k_norm", *k_norm);
}

Value LlamaAttention::operator()(Graph& g, Value x, Value angles, Value cache, DType compute) const {
  const Graph::Scope scope(g, "self_attn");
  const std::int64_t q_width = heads_ * head_width_, kv_width = kv_heads_ * head_width_;
  const Value qkv = nn::fused_linear(g, x, {&q_proj, &k_proj, &v_proj}, compute);
  Value q = graph::slice(g, qkv, {.begin = 0, .width = q_width});
  Value k = graph::slice(g, qkv, {.begin = q_width, .width = kv_width});
  if (q_norm) q = (*q_norm)(g, q);
  if (k_norm) k = (*k_norm)(g, k);
  const graph::RopeAttrs rotation{.head_width = head_width_, .rotary = rotary_};
  const auto [y, next] =
      graph::attention(g, {graph::rope(g, q, angles, rotation), graph::rope(g, k, angles, rotation), qkv, cache},
                       {.heads = heads_,
                        .kv_heads = kv_heads_,
                        .head_width = head_width_,
                        .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width_))),
                        .v_column = q_width + kv_width});
  return o_proj(g, y, compute);
}

LlamaMlp::LlamaMlp(const LlamaConfig& c)
    : gate_proj(c.shape.width, c.feed_forward, c.mlp_bias ? Bias::kPresent : Bias::kNone),
      up_proj(c.shape.width, c.feed_forward, c.mlp_bias ? Bias::kPresent : Bias::kNone),
      down_proj(c.feed_forward, c.shape.width, c.mlp_bias ? Bias::kPresent : Bias::kNone),
      activation_(c.activation) {}

void LlamaMlp::visit(nn::ModuleVisitor& v) {
  v.child("gate_proj", gate_proj);
  v.child("up_proj", up_proj);
  v.child("down_proj", down_proj);
}

Value LlamaMlp::operator()(Graph& g, Value x, DType compute) const {
  const Graph::Scope scope(g, "mlp");
  const Value both = nn::fused_linear(g, x, {&gate_proj, &up_proj}, compute);
  const std::int64_t width = gate_proj.weight.shape[0];
  const Value gate = graph::slice(g, both, {.begin = 0, .width = width});
  const Value up = graph::slice(g, both, {.begin = width, .width = width});
  return down_proj(g, graph::multiply(g, graph::activation(g, gate, {activation_}), up), compute);
}

LlamaLayer::LlamaLayer(const LlamaConfig& c)
    : input_layernorm(c.shape.width, c.eps), post_attention_layernorm(c.shape.width, c.eps), self_attn(c), mlp(c) {}

void LlamaLayer::visit(nn::ModuleVisitor& v) {
  v.child("input_layernorm", input_layernorm);
  v.child("self_attn", self_attn);
  v.child("post_attention_layernorm", post_attention_layernorm);
  v.child("mlp", mlp);
}

Llama::Llama(LlamaConfig config, std::string prefix)
    : config_(std::move(config)),
      prefix_(std::move(prefix)),
      embed_tokens_{.shape = {config_.shape.vocabulary, config_.shape.width}},
      norm_(config_.shape.width, config_.eps) {
  for (std::int64_t i = 0; i < config_.shape.layers; ++i) layers_.push_back(std::make_unique<LlamaLayer>(config_));
  if (!config_.is_tied)
    lm_head_ = std::make_unique<nn::Linear>(config_.shape.width, config_.shape.vocabulary, Bias::kNone);
  const auto count = static_cast<std::int64_t>(config_.rope.radians.size());
  frequencies_ = {.name = "rope_frequencies", .shape = {count}, .vector = Tensor(DType::kF32, {count})};
  std::copy(config_.rope.radians.begin(), config_.rope.radians.end(), frequencies_.vector.as<float>());
}

void Llama::visit(nn::ModuleVisitor& v) {
  v.param("embed_tokens.weight", embed_tokens_);
  for (std::size_t i = 0; i < layers_.size(); ++i) v.child(fmt::format("layers.{}", i), *layers_[i]);
  v.child("norm", norm_);
}

std::vector<Param*> Llama::params() {
  std::vector<Param*> params = nn::name_params(*this, prefix_);
  if (lm_head_)
    for (Param* p : nn::name_params(*lm_head_, "lm_head")) params.push_back(p);
  return params;
}

void Llama::trunk(Graph& g, DType compute, HiddenStates hidden) const {
  const Value ids = g.input("ids", {.dtype = DType::kI32, .width = 1});
  const Value positions = g.input("positions", {.dtype = DType::kI32, .width = 1});
  const std::string type(dtype_name(compute));
  const Value angles =
      graph::rope_angles(g, positions, g.param(frequencies_), {.dtype = type, .scale = config_.rope.scale});
  Value x = graph::embed(g, ids, g.param(embed_tokens_), {.dtype = type});
  const auto keep = [&](std::size_t index) {
    if (hidden == HiddenStates::kAll) g.set_output(fmt::format("hidden.{}", index), x);
  };
  keep(0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LlamaLayer& layer = *layers_[i];
    const Graph::Scope scope(g, fmt::format("layers.{}", i));
    const Value cache = g.state(fmt::format("cache.{}", i));
    x = graph::add(g, x, layer.self_attn(g, layer.input_layernorm(g, x), angles, cache, compute));
    x = graph::add(g, x, layer.mlp(g, layer.post_attention_layernorm(g, x), compute));
    if (i + 1 < layers_.size()) keep(i + 1);
  }
  x = norm_(g, x);
  keep(layers_.size());
  g.set_output("hidden", x);
}

void Llama::head(Graph& g, DType compute) const {
  const Value hidden = g.input("hidden", {.dtype = compute, .width = config_.shape.width});
  const Param& weight = lm_head_ ? lm_head_->weight : embed_tokens_;
  const graph::LinearPart part{.weight = g.param(weight)};
  g.set_output("logits", graph::linear(g, hidden, {&part, 1}, "F32"));
}

std::string Llama::attention_name(std::int64_t layer) const {
  return fmt::format("{}.layers.{}.self_attn", prefix_, layer);
}

bool Llama::may_be_extra(std::string_view tensor) const {
  if (config_.is_tied && tensor == "lm_head.weight") return true;
  return tensor.ends_with(".rotary_emb.inv_freq");
}

std::unique_ptr<LanguageModel> make_llama(const Json& config, const std::function<bool(std::string_view)>& has,
                                          const LlamaVariant& variant) {
  std::string prefix = "model";
  for (const char* candidate : {"model", "model.language_model", "language_model.model"})
    if (has(fmt::format("{}.norm.weight", candidate))) prefix = candidate;
  return std::make_unique<Llama>(read_llama_config(config, variant), prefix);
}

}  // namespace tessera::models
