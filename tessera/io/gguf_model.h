// A GGUF file as a Hugging Face model: its architecture, each of its tensors with its other name, its config.json.
// Everything that can be refused is refused here, from the headers, before any weight is read.
// Source: spec 1.16; docs/formats/gguf.md.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/io/container.h"
#include "tessera/io/ggml_type.h"
#include "tessera/io/gguf_architecture.h"
#include "tessera/numeric/format.h"

namespace tessera {

// One tensor of the model.
struct GgufTensor {
  const StoredTensor* stored = nullptr;  // of the container
  const GgmlType* type = nullptr;
  std::string hf_name;
  std::vector<std::int64_t> shape;  // as in the Hugging Face model, which is the stored one
  GgufRows order = GgufRows::kAsStored;
  std::int64_t head_width = 0;  // rows of a head: reordered rows stay within theirs
  float multiplier = 1;         // of its sidecar NAME.scale: a value is (what its block gives) * multiplier, in f32
  bool has_multiplier = false;

  Extent extent() const;  // a vector counts as one column, so that its rows are its elements
};

struct GgufLeftOut {
  std::string name, reason;
};

struct GgufModel {
  const Container* container = nullptr;
  const GgufArchitecture* architecture = nullptr;
  GgufFacts facts;
  std::vector<GgufTensor> tensors;    // sorted by hf_name
  Json config;                        // of config.json, keys sorted; without torch_dtype
  std::vector<GgufLeftOut> left_out;  // tensors that are not weights of the model, and why
  std::vector<ContainerWarning> warnings;
};

// `container` outlives the model. Throws
//   kUnsupported  not a language model, one of several parts, an architecture, tensors (named, all of them) or types
//   that
//                 are not known, a setting that config.json cannot say
//   kCorrupt      a tensor that the architecture must have is absent, or has another shape than the keys say
GgufModel read_gguf_model(const Container& container);

// Values of rows [begin, end) of `tensor`, counted in the Hugging Face order. out: [end - begin, extent().cols]. Bounds
// lie on whole heads where rows are reordered (Extent of a head: head_width). Any thread. Throws kResource.
void dequantize_rows(const GgufModel& model, const GgufTensor& tensor, std::int64_t begin, std::int64_t end,
                     std::span<float> out);

}  // namespace tessera
