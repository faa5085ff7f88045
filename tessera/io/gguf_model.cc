#include "tessera/io/gguf_model.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/io/ggml_blocks.h"
#include "tessera/io/gguf_config.h"
#include "tessera/io/gguf_keys.h"
#include "tessera/io/gguf_rope.h"
#include "tessera/numeric/element.h"
#include "tessera/tensor/tensor.h"

namespace tessera {
namespace {

constexpr std::string_view kEmbedding = "model.embed_tokens.weight", kOutput = "lm_head.weight";
constexpr std::size_t kMostNamed = 8;  // in a message

// "a, b, c and 12 more".
std::string list_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

[[noreturn]] void fail_tensor(Errc code, const std::string& tensor, std::string message) {
  Error error(code, std::move(message));
  error.in_tensor(tensor);
  throw error;
}

std::vector<float> read_f32(const Container& container, const StoredTensor& tensor) {
  const GgmlType* type = find_ggml_type(tensor.ggml_type);
  if (type == nullptr || type->dtype != DType::kF32 || tensor.elements() > std::int64_t{1} << 20)
    fail_tensor(Errc::kUnsupported, tensor.name,
                fmt::format("tensor '{}' is {} {}, and a few F32 numbers are expected", printable(tensor.name),
                            tensor.type, shape_text(tensor.shape)));
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  container.read(tensor, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

class ModelReader final {
 public:
  explicit ModelReader(const Container& container)
      : container_(container), general_(container.gguf_metadata(), "general.") {
    model_.container = &container;
  }

  GgufModel read() {
    check_kind();
    model_.architecture = &find_gguf_architecture(general_.text("architecture").value_or(""));
    match_tensors();
    GgufKeys keys(container_.gguf_metadata(), fmt::format("{}.", model_.architecture->name));
    read_sizes(keys);
    check_types();
    check_layers();
    for (auto& [hf, tensor] : tensors_) add_tensor(hf, tensor);
    read_config(keys);
    for (const std::string& key : keys.unread())
      warn("unread_key", "", fmt::format("the key {} is not known and has no place in config.json", printable(key)));
    return std::move(model_);
  }

 private:
  struct Found {
    GgufMatch match;
    const StoredTensor* stored = nullptr;
  };

  void warn(std::string code, std::string tensor, std::string message) {
    model_.warnings.push_back({std::move(code), std::move(tensor), std::move(message)});
  }

  void check_kind() {
    require(container_.kind() == Container::Kind::kGguf, Errc::kInvalid, "{} is no GGUF file", container_.path());
    const std::string kind = general_.text("type").value_or("model");
    require(kind == "model", Errc::kUnsupported, "this GGUF file holds no model: general.type is '{}'",
            printable(kind));
    GgufKeys split(container_.gguf_metadata(), "split.");
    const std::int64_t parts = split.integer("count").value_or(1);
    require(parts <= 1, Errc::kUnsupported,
            "this GGUF file is one of {} parts: join them first (llama-gguf-split --merge)", parts);
    const std::int64_t version = general_.integer("quantization_version").value_or(2);
    require(version == 2, Errc::kUnsupported, "the blocks are of ggml's quantization version {}; 2 is known", version);
  }

  // Every tensor has a meaning or the file is refused.
  void match_tensors() {
    std::vector<std::string> unknown;
    for (const StoredTensor& tensor : container_.tensors()) {
      model_.facts.names.insert(tensor.name);
      if (!model_.architecture->rope_divisors.empty() && tensor.name == model_.architecture->rope_divisors) {
        rope_divisors_ = &tensor;
      } else if (const std::optional<GgufMatch> match = match_gguf_name(*model_.architecture, tensor.name)) {
        tensors_.emplace(*hf_name(*model_.architecture, tensor.name), Found{*match, &tensor});
      } else {
        unknown.push_back(printable(tensor.name));
      }
    }
    if (!unknown.empty())
      fail_tensor(Errc::kUnsupported, unknown.front(),
                  fmt::format("the architecture '{}' has no name for {} of the file's tensors: {}",
                              model_.architecture->name, unknown.size(), list_names(unknown)));
  }

  void read_sizes(GgufKeys& keys) {
    const auto place = tensors_.find(kEmbedding);
    require(place != tensors_.end() && place->second.stored->shape.size() == 2, Errc::kCorrupt,
            "this GGUF file has no embedding with the axes tokens and width");
    const std::vector<std::int64_t>& shape = place->second.stored->shape;
    model_.facts.sizes = read_gguf_sizes(keys, shape[0], shape[1]);
  }

  void check_types() const {
    std::vector<std::string> unknown;
    for (const auto& [hf, found] : tensors_) {
      const GgmlType* type = find_ggml_type(found.stored->ggml_type);
      if (type == nullptr || !can_dequantize(*type))
        unknown.push_back(fmt::format("{} ({})", printable(found.stored->name), found.stored->type));
    }
    if (!unknown.empty())
      fail_tensor(Errc::kUnsupported, unknown.front().substr(0, unknown.front().find(' ')),
                  fmt::format("{} tensors are of types that can be listed and not decoded: {}", unknown.size(),
                              list_names(unknown)));
  }

  // What each layer must have is there; what it may have, each has or none.
  void check_layers() const {
    const std::int64_t layers = model_.facts.sizes.layers;
    for (const auto& [hf, found] : tensors_)
      if (found.match.layer >= layers)
        fail_tensor(Errc::kCorrupt, found.stored->name,
                    fmt::format("tensor '{}' is of layer {}, and there are {} layers", found.stored->name,
                                found.match.layer, layers));
    require(static_cast<std::size_t>(layers) <= container_.tensors().size(), Errc::kCorrupt,
            "the file has {} tensors for {} layers", container_.tensors().size(), layers);
    std::vector<std::string> absent;
    for (const GgufName& name : model_.architecture->tensors) {
      note_absent(name, ".weight", name.weight, absent);
      note_absent(name, ".bias", name.bias, absent);
    }
    if (!absent.empty())
      fail_tensor(Errc::kCorrupt, absent.front(),
                  fmt::format("{} tensors of the model are absent: {}", absent.size(), list_names(absent)));
  }
  void note_absent(const GgufName& name, std::string_view suffix, GgufPresence presence,
                   std::vector<std::string>& absent) const {
    if (presence == GgufPresence::kNever) return;
    const bool layered = gguf_name_of(name, 0, "") != name.gguf;
    const std::int64_t count = layered ? model_.facts.sizes.layers : 1;
    if (presence == GgufPresence::kMayBe) {
      bool any = false;
      for (std::int64_t layer = 0; layer < count && !any; ++layer)
        any = model_.facts.has(gguf_name_of(name, layer, suffix));
      if (!any) return;
    }
    for (std::int64_t layer = 0; layer < count; ++layer)
      if (std::string full = gguf_name_of(name, layer, suffix); !model_.facts.has(full))
        absent.push_back(std::move(full));
  }

  void add_tensor(const std::string& hf, const Found& found) {
    const bool is_bias = found.match.suffix == ".bias";
    if (!is_bias && found.match.suffix != ".weight") return add_sidecar(found);
    const GgufName& name = *found.match.name;
    const GgufSizes& sizes = model_.facts.sizes;
    std::vector<std::int64_t> expected{extent_of(name.rows, sizes)};
    if (!is_bias && name.columns != GgufSize::kNone) expected.push_back(extent_of(name.columns, sizes));
    if (found.stored->shape != expected)
      fail_tensor(Errc::kCorrupt, found.stored->name,
                  fmt::format("tensor '{}' is {}, and the keys of the file make it {}", found.stored->name,
                              shape_text(found.stored->shape), shape_text(expected)));
    GgufTensor tensor{.stored = found.stored,
                      .type = find_ggml_type(found.stored->ggml_type),
                      .hf_name = hf,
                      .shape = std::move(expected),
                      .order = name.order,
                      .head_width = sizes.head_width};
    if (!is_bias) read_multiplier(name, found.match.layer, tensor);
    model_.tensors.push_back(std::move(tensor));
  }

  void read_multiplier(const GgufName& name, std::int64_t layer, GgufTensor& tensor) {
    const StoredTensor* scale = container_.find(gguf_name_of(name, layer, ".scale"));
    if (scale == nullptr) return;
    const std::vector<float> values = read_f32(container_, *scale);
    if (values.size() != 1)
      fail_tensor(Errc::kUnsupported, scale->name,
                  fmt::format("tensor '{}' has {} numbers; one for the tensor is known", scale->name, values.size()));
    if (!is_finite(values[0]) || values[0] == 0)
      fail_tensor(Errc::kCorrupt, scale->name,
                  fmt::format("tensor '{}' is {}, and no weight is that times anything", scale->name, values[0]));
    tensor.multiplier = values[0];
    tensor.has_multiplier = true;
  }

  void add_sidecar(const Found& found) {
    if (!model_.facts.has(gguf_name_of(*found.match.name, found.match.layer, ".weight")))
      fail_tensor(Errc::kCorrupt, found.stored->name,
                  fmt::format("tensor '{}' scales a weight that the file does not have", found.stored->name));
    if (found.match.suffix == ".input_scale")
      model_.left_out.push_back({found.stored->name, "a scale of activations; the weights do not depend on it"});
  }

  void read_config(GgufKeys& keys) {
    const RopeFrequencies frequencies{keys.real("rope.freq_base").value_or(10000), model_.facts.sizes.head_width};
    require(frequencies.theta > 0, Errc::kCorrupt, "{} is {}", keys.full("rope.freq_base"), frequencies.theta);
    Json scaling = rope_scaling_of(keys);
    if (rope_divisors_ != nullptr) {
      require(scaling.is_null(), Errc::kUnsupported, "the file scales its rope twice: by keys and by tensor {}",
              rope_divisors_->name);
      const std::int64_t hint = keys.integer("rope.scaling.original_context_length").value_or(0);
      scaling = llama3_rope_scaling(frequencies, read_f32(container_, *rope_divisors_), hint);
      model_.left_out.push_back(
          {rope_divisors_->name, scaling.is_null()
                                     ? std::string("divides every frequency by 1")
                                     : fmt::format("is rope_scaling of config.json: {}", scaling.dump())});
    }
    GgufKeys tokenizer(container_.gguf_metadata(), "tokenizer.ggml.");
    model_.config = make_gguf_config({.architecture = *model_.architecture,
                                      .facts = model_.facts,
                                      .keys = keys,
                                      .tokenizer = tokenizer,
                                      .rope_theta = frequencies.theta,
                                      .rope_scaling = std::move(scaling),
                                      .tied = !tensors_.contains(kOutput)});
  }

  const Container& container_;
  GgufKeys general_;
  std::map<std::string, Found, std::less<>> tensors_;  // by Hugging Face name
  const StoredTensor* rope_divisors_ = nullptr;
  GgufModel model_;
};

}  // namespace

Extent GgufTensor::extent() const { return {shape[0], shape.size() == 1 ? 1 : shape[1]}; }

GgufModel read_gguf_model(const Container& container) {
  return naming_file(container.path(), [&] { return ModelReader(container).read(); });
}

void dequantize_rows(const GgufModel& model, const GgufTensor& tensor, std::int64_t begin, std::int64_t end,
                     std::span<float> out) {
  const std::int64_t columns = tensor.extent().cols, elements = (end - begin) * columns;
  const bool reordered = tensor.order != GgufRows::kAsStored;
  TESSERA_ASSERT(static_cast<std::int64_t>(out.size()) == elements);
  TESSERA_ASSERT(!reordered || (begin % tensor.head_width == 0 && end % tensor.head_width == 0));
  const auto bytes_of_elements = [&](std::int64_t count) {
    return static_cast<std::uint64_t>(count / tensor.type->block * tensor.type->block_bytes);
  };
  std::vector<std::byte> blocks(bytes_of_elements(elements));
  model.container->read(*tensor.stored, bytes_of_elements(begin * columns), blocks);
  std::vector<float> scratch(reordered ? out.size() : 0);
  const std::span<float> values = reordered ? std::span<float>(scratch) : out;
  dequantize_ggml(*tensor.type, blocks, values);
  if (tensor.has_multiplier)
    for (float& value : values) value *= tensor.multiplier;
  if (!reordered) return;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t from = stored_row(tensor.order, tensor.head_width, row) - begin;
    std::copy_n(scratch.begin() + from * columns, columns, out.begin() + (row - begin) * columns);
  }
}

}  // namespace tessera
