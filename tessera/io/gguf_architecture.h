// A GgufArchitecture is what a reader of GGUF files must know to give a model back its Hugging Face form: which tensor
// is which, which of them have their rows in another order, and what its config.json says.
// One file an architecture, io/gguf_architectures/NAME.h, which defines gguf_architectures::NAME.
// Source: the tensor names of gguf-py (constants.py, tensor_mapping.py) and llama.cpp's converter; spec 1.16.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/json.h"

namespace tessera {

// The sizes that tensors are made of, from the file's metadata.
struct GgufSizes {
  std::int64_t layers = 0, hidden = 0, feed_forward = 0, vocabulary = 0, context = 0;
  std::int64_t heads = 0, key_heads = 0, head_width = 0;
};
enum class GgufSize : std::uint8_t { kNone, kHidden, kFeedForward, kVocabulary, kQuery, kKey, kHeadWidth };
std::int64_t extent_of(GgufSize size, const GgufSizes& sizes);  // kQuery: heads * head_width; kNone: 1

// What a file tells of its model.
struct GgufFacts {
  GgufSizes sizes;
  std::set<std::string, std::less<>> names;  // of its tensors, in GGUF

  bool has(std::string_view name) const { return names.find(name) != names.end(); }
  // Whether the first layer has these ("attn_q.bias"). Throws kUnsupported when it has some of them only: one switch of
  // config.json stands for all.
  bool has_all(std::initializer_list<std::string_view> parts) const;
};

enum class GgufRows : std::uint8_t {
  kAsStored,
  kPairsOfHalves,  // within each head the two halves of the rows alternate; see stored_row
};
enum class GgufPresence : std::uint8_t { kNever, kMayBe, kMustBe };

// One tensor of the model, or one of each layer: "{}" stands for the layer's number in both names.
struct GgufName {
  std::string_view gguf, hf;             // without ".weight"
  GgufSize rows = GgufSize::kHidden;     // of a vector: its length
  GgufSize columns = GgufSize::kNone;    // kNone: a vector
  GgufRows order = GgufRows::kAsStored;  // of the rows of the weight and of the bias
  GgufPresence weight = GgufPresence::kMustBe, bias = GgufPresence::kNever;
};

struct GgufArchitecture {
  std::string_view name;        // general.architecture
  std::string_view hf_class;    // config.json: architectures
  std::string_view model_type;  // config.json
  std::span<const GgufName> tensors;
  std::string_view rope_divisors = {};                 // a tensor that divides the rope's frequencies; "": none
  void (*add_config)(const GgufFacts&, Json& config);  // what the architectures do not have in common
};

std::span<const GgufArchitecture* const> all_gguf_architectures();
const GgufArchitecture& find_gguf_architecture(std::string_view name);  // throws kUnsupported, listing the names

// A tensor of a file, found in its architecture.
struct GgufMatch {
  const GgufName* name = nullptr;
  std::int64_t layer = -1;  // -1: not of a layer
  std::string suffix;       // ".weight", ".bias", or a sidecar of the weight: ".scale", ".input_scale"
};
std::optional<GgufMatch> match_gguf_name(const GgufArchitecture& architecture, std::string_view gguf_name);
std::string gguf_name_of(const GgufName& name, std::int64_t layer, std::string_view suffix);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight". None for a name that the architecture does not
// have. A sidecar follows its weight: "blk.3.attn_q.scale" -> "model.layers.3.self_attn.q_proj.scale".
std::optional<std::string> hf_name(const GgufArchitecture& architecture, std::string_view gguf_name);

// The row of the GGUF tensor that is row `row` of the Hugging Face one. `head_width`: rows of a head, D, even.
// kPairsOfHalves: HF row h*D + s*D/2 + i (s = 0, 1) is GGUF row h*D + 2*i + s.
constexpr std::int64_t stored_row(GgufRows order, std::int64_t head_width, std::int64_t row) {
  if (order == GgufRows::kAsStored) return row;
  const std::int64_t within = row % head_width, half = head_width / 2;
  return row - within + 2 * (within % half) + within / half;
}

}  // namespace tessera
