// qwen3: Qwen 3, dense. Norms on the heads of q and k, no biases; every row where it was.
// Source: llama.cpp, conversion of Qwen3ForCausalLM, LLM_ARCH_QWEN3; transformers, Qwen3Config.
#pragma once
#include "tessera/io/gguf_architecture.h"
namespace tessera::gguf_architectures {
inline constexpr GgufName kQwen3Tensors[] = {
    {.gguf = "token_embd", .hf = "model.embed_tokens", .rows = GgufSize::kVocabulary, .columns = GgufSize::kHidden},
    {.gguf = "output_norm", .hf = "model.norm"},
    {.gguf = "output",
     .hf = "lm_head",
     .rows = GgufSize::kVocabulary,
     .columns = GgufSize::kHidden,
     .weight = GgufPresence::kMayBe},
    {.gguf = "blk.{}.attn_norm", .hf = "model.layers.{}.input_layernorm"},
    {.gguf = "blk.{}.attn_q",
     .hf = "model.layers.{}.self_attn.q_proj",
     .rows = GgufSize::kQuery,
     .columns = GgufSize::kHidden},
    {.gguf = "blk.{}.attn_k",
     .hf = "model.layers.{}.self_attn.k_proj",
     .rows = GgufSize::kKey,
     .columns = GgufSize::kHidden},
    {.gguf = "blk.{}.attn_v",
     .hf = "model.layers.{}.self_attn.v_proj",
     .rows = GgufSize::kKey,
     .columns = GgufSize::kHidden},
    {.gguf = "blk.{}.attn_output", .hf = "model.layers.{}.self_attn.o_proj", .columns = GgufSize::kQuery},
    {.gguf = "blk.{}.attn_q_norm", .hf = "model.layers.{}.self_attn.q_norm", .rows = GgufSize::kHeadWidth},
    {.gguf = "blk.{}.attn_k_norm", .hf = "model.layers.{}.self_attn.k_norm", .rows = GgufSize::kHeadWidth},
    {.gguf = "blk.{}.ffn_norm", .hf = "model.layers.{}.post_attention_layernorm"},
    {.gguf = "blk.{}.ffn_gate",
     .hf = "model.layers.{}.mlp.gate_proj",
     .rows = GgufSize::kFeedForward,
     .columns = GgufSize::kHidden},
    {.gguf = "blk.{}.ffn_up",
     .hf = "model.layers.{}.mlp.up_proj",
     .rows = GgufSize::kFeedForward,
     .columns = GgufSize::kHidden},
    {.gguf = "blk.{}.ffn_down", .hf = "model.layers.{}.mlp.down_proj", .columns = GgufSize::kFeedForward},
};
inline constexpr GgufArchitecture qwen3{
    .name = "qwen3",
    .hf_class = "Qwen3ForCausalLM",
    .model_type = "qwen3",
    .tensors = kQwen3Tensors,
    .add_config =
        [](const GgufFacts& facts, Json& config) {
          config.set("attention_bias", false);
          config.set("max_window_layers", facts.sizes.layers);
          config.set("sliding_window", nullptr);
          config.set("use_sliding_window", false);
        },
};
}  // namespace tessera::gguf_architectures
