#include "tessera/io/gguf_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max();  // products of two fit

std::int64_t checked_size(const std::string& name, std::int64_t size) {
  require(size > 0 && size <= kLargestSize, Errc::kCorrupt, "{} is {}, and a size is expected", name, size);
  return size;
}

// One number for all layers. A file with a number for each layer is another kind of model.
std::optional<std::int64_t> size_of_every_layer(GgufKeys& keys, std::string_view key) {
  try {
    return keys.integer(key);
  } catch (const Error&) {
    fail(Errc::kUnsupported, "{} is no single number: layers that differ are not known", keys.full(key));
  }
}

Json id_or_null(GgufKeys& tokenizer, std::string_view key, std::int64_t vocabulary) {
  const std::optional<std::int64_t> id = tokenizer.integer(key);
  if (!id) return nullptr;
  require(*id >= 0 && *id < vocabulary, Errc::kCorrupt, "{} is {}, and there are {} tokens", tokenizer.full(key), *id,
          vocabulary);
  return *id;
}

Json sorted_by_key(Json object) {
  auto& fields = object.as_object();
  std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return object;
}

}  // namespace

GgufSizes read_gguf_sizes(GgufKeys& keys, std::int64_t vocabulary, std::int64_t hidden) {
  const auto size = [&](std::string_view key) {
    const std::optional<std::int64_t> value = size_of_every_layer(keys, key);
    return checked_size(keys.full(key), value ? *value : keys.required_integer(key));
  };
  const auto size_or = [&](std::string_view key, std::int64_t otherwise) {
    return checked_size(keys.full(key), size_of_every_layer(keys, key).value_or(otherwise));
  };
  GgufSizes sizes{.layers = size("block_count"),
                  .hidden = size("embedding_length"),
                  .feed_forward = size("feed_forward_length"),
                  .vocabulary = vocabulary,
                  .context = size("context_length"),
                  .heads = size("attention.head_count")};
  sizes.key_heads = size_or("attention.head_count_kv", sizes.heads);
  require(sizes.hidden == hidden && size_or("vocab_size", vocabulary) == vocabulary, Errc::kCorrupt,
          "the embedding is [{}, {}], and the keys say {} tokens and a width of {}", vocabulary, hidden,
          size_or("vocab_size", vocabulary), sizes.hidden);
  require(sizes.heads % sizes.key_heads == 0, Errc::kCorrupt, "{} heads cannot share {} heads of keys", sizes.heads,
          sizes.key_heads);
  sizes.head_width = size_or("attention.key_length", std::max<std::int64_t>(1, sizes.hidden / sizes.heads));
  require(sizes.head_width % 2 == 0, Errc::kCorrupt, "heads are {} wide, and rope turns pairs", sizes.head_width);
  const std::int64_t value_width = size_or("attention.value_length", sizes.head_width);
  require(value_width == sizes.head_width, Errc::kUnsupported, "keys are {} wide and values {}: not known",
          sizes.head_width, value_width);
  const std::int64_t turned = size_or("rope.dimension_count", sizes.head_width);
  require(turned == sizes.head_width, Errc::kUnsupported, "rope turns {} of the {} elements of a head: not known",
          turned, sizes.head_width);
  const std::int64_t experts = keys.integer("expert_count").value_or(0);
  require(experts == 0, Errc::kUnsupported, "the model has {} experts a layer: not known", experts);
  return sizes;
}

Json make_gguf_config(const GgufConfigInput& input) {
  const GgufSizes& sizes = input.facts.sizes;
  const std::optional<double> epsilon = input.keys.real("attention.layer_norm_rms_epsilon");
  require(epsilon.has_value(), Errc::kCorrupt, "this GGUF file has no key {}",
          input.keys.full("attention.layer_norm_rms_epsilon"));
  Json config = JsonObject{
      {"architectures", JsonArray{std::string(input.architecture.hf_class)}},
      {"attention_dropout", 0.0},
      {"bos_token_id", id_or_null(input.tokenizer, "bos_token_id", sizes.vocabulary)},
      {"eos_token_id", id_or_null(input.tokenizer, "eos_token_id", sizes.vocabulary)},
      {"head_dim", sizes.head_width},
      {"hidden_act", "silu"},
      {"hidden_size", sizes.hidden},
      {"initializer_range", 0.02},
      {"intermediate_size", sizes.feed_forward},
      {"max_position_embeddings", sizes.context},
      {"model_type", std::string(input.architecture.model_type)},
      {"num_attention_heads", sizes.heads},
      {"num_hidden_layers", sizes.layers},
      {"num_key_value_heads", sizes.key_heads},
      {"pad_token_id", id_or_null(input.tokenizer, "padding_token_id", sizes.vocabulary)},
      {"rms_norm_eps", *epsilon},
      {"rope_scaling", input.rope_scaling},
      {"rope_theta", input.rope_theta},
      {"tie_word_embeddings", input.tied},
      {"use_cache", true},
      {"vocab_size", sizes.vocabulary},
  };
  input.architecture.add_config(input.facts, config);
  return sorted_by_key(std::move(config));
}

Json make_generation_config(const Json& config, GgufKeys& tokenizer) {
  Json generation = JsonObject{{"_from_model_config", true}};
  for (const std::string_view key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (const Json* id = config.find(key); id != nullptr && !id->is_null()) generation.set(std::string(key), *id);
  const Json turn = id_or_null(tokenizer, "eot_token_id", config.find("vocab_size")->as_int64());
  const Json* text = generation.find("eos_token_id");
  if (!turn.is_null() && text == nullptr) generation.set("eos_token_id", turn);
  if (!turn.is_null() && text != nullptr && !(turn == *text)) generation.set("eos_token_id", JsonArray{*text, turn});
  return generation;
}

std::string config_text(const Json& value) { return value.dump(2) + "\n"; }

}  // namespace tessera
