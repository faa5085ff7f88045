// llama: Llama 1-3 and what has their form (SmolLM2, Mistral 7B). The converter puts the halves of each head's rows of
// q and k in turn, because ggml rotates neighbours where transformers rotates halves. Source: llama.cpp, conversion of
// LlamaForCausalLM (permute), LLM_ARCH_LLAMA; transformers, LlamaConfig.
#pragma once
#include "tessera/io/gguf_architecture.h"
namespace tessera::gguf_architectures {
inline constexpr GgufName kLlamaTensors[] = {
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
     .columns = GgufSize::kHidden,
     .order = GgufRows::kPairsOfHalves,
     .bias = GgufPresence::kMayBe},
    {.gguf = "blk.{}.attn_k",
     .hf = "model.layers.{}.self_attn.k_proj",
     .rows = GgufSize::kKey,
     .columns = GgufSize::kHidden,
     .order = GgufRows::kPairsOfHalves,
     .bias = GgufPresence::kMayBe},
    {.gguf = "blk.{}.attn_v",
     .hf = "model.layers.{}.self_attn.v_proj",
     .rows = GgufSize::kKey,
     .columns = GgufSize::kHidden,
     .bias = GgufPresence::kMayBe},
    {.gguf = "blk.{}.attn_output",
     .hf = "model.layers.{}.self_attn.o_proj",
     .columns = GgufSize::kQuery,
     .bias = GgufPresence::kMayBe},
    {.gguf = "blk.{}.ffn_norm", .hf = "model.layers.{}.post_attention_layernorm"},
    {.gguf = "blk.{}.ffn_gate",
     .hf = "model.layers.{}.mlp.gate_proj",
     .rows = GgufSize::kFeedForward,
     .columns = GgufSize::kHidden,
     .bias = GgufPresence::kMayBe},
    {.gguf = "blk.{}.ffn_up",
     .hf = "model.layers.{}.mlp.up_proj",
     .rows = GgufSize::kFeedForward,
     .columns = GgufSize::kHidden,
     .bias = GgufPresence::kMayBe},
    {.gguf = "blk.{}.ffn_down",
     .hf = "model.layers.{}.mlp.down_proj",
     .columns = GgufSize::kFeedForward,
     .bias = GgufPresence::kMayBe},
};
inline constexpr GgufArchitecture llama{
    .name = "llama",
    .hf_class = "LlamaForCausalLM",
    .model_type = "llama",
    .tensors = kLlamaTensors,
    .rope_divisors = "rope_freqs.weight",
    .add_config =
        [](const GgufFacts& facts, Json& config) {
          config.set("attention_bias",
                     facts.has_all({"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias"}));
          config.set("mlp_bias", facts.has_all({"ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"}));
          config.set("pretraining_tp", 1);
        },
};
}  // namespace tessera::gguf_architectures
