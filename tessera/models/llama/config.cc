#include "tessera/base/error.h"
#include "tessera/models/llama/llama.h"

namespace tessera::models {
namespace {

// The configuration of the text model, with the names of what is missing in errors.
class Fields {
 public:
  explicit Fields(const Json& config) : config_(config) {}
  const Json* find(std::string_view key) const {
    const Json* found = config_.find(key);
    return found != nullptr && !found->is_null() ? found : nullptr;
  }
  std::int64_t size(std::string_view key, std::int64_t otherwise = 0) const {
    const Json* found = find(key);
    require(found != nullptr || otherwise > 0, Errc::kInvalid, "config.json has no '{}'", key);
    const std::int64_t value = found != nullptr ? found->as_int64() : otherwise;
    require(value > 0 && value < std::int64_t{1} << 31, Errc::kInvalid, "config.json: '{}' is {}", key, value);
    return value;
  }
  bool flag(std::string_view key, bool otherwise) const {
    const Json* found = find(key);
    return found != nullptr ? found->as_bool() : otherwise;
  }

 private:
  const Json& config_;
};

}  // namespace

LlamaConfig read_llama_config(const Json& whole, const LlamaVariant& variant) {
  const Json* text = whole.find("text_config");
  const Json& config = text != nullptr ? *text : whole;
  const Fields f(config);
  LlamaConfig c;
  c.heads = f.size("num_attention_heads");
  c.feed_forward = f.size("intermediate_size");
  LanguageShape& s = c.shape;
  s = {.vocabulary = f.size("vocab_size"),
       .width = f.size("hidden_size"),
       .layers = f.size("num_hidden_layers"),
       .longest = f.size("max_position_embeddings", 2048),
       .kv_heads = f.size("num_key_value_heads", c.heads)};
  s.head_width = f.size("head_dim", s.width / c.heads);
  require(c.heads % s.kv_heads == 0 && s.head_width % 2 == 0, Errc::kInvalid,
          "config.json: {} heads over {} key-value heads of width {}", c.heads, s.kv_heads, s.head_width);
  const Json* eps = f.find("rms_norm_eps");
  c.eps = eps != nullptr ? static_cast<float>(eps->as_double()) : 1e-6f;
  c.activation = config.string_or("hidden_act", "silu");
  c.is_tied = f.flag("tie_word_embeddings", false);
  c.output_bias = !variant.always_qkv_bias && f.flag("attention_bias", false);
  c.qkv_bias = variant.always_qkv_bias || c.output_bias;
  c.mlp_bias = f.flag("mlp_bias", false);
  c.has_head_norms = variant.has_head_norms;
  c.rope = nn::rope_frequencies(config, s.head_width);
  require(!f.flag("use_sliding_window", false), Errc::kUnsupported,
          "config.json asks for a sliding window of {} tokens; attention here sees every token",
          f.find("sliding_window") != nullptr ? f.find("sliding_window")->dump() : "?");
  return c;
}

}  // namespace tessera::models
