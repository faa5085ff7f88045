#include "tessera/weights/load_params.h"

#include <set>

#include "tessera/base/error.h"
#include "tessera/base/progress.h"

namespace tessera {
namespace {

std::string_view module_of(std::string_view param) {
  constexpr std::string_view kWeight = ".weight";
  return param.ends_with(kWeight) ? param.substr(0, param.size() - kWeight.size()) : param;
}

// A list that stays readable: the first few, and how many more.
class NameList {
 public:
  void add(std::string_view name) {
    if (++count_ <= 5) text_ += fmt::format("{}{}", count_ == 1 ? "" : ", ", name);
  }
  std::size_t count() const { return count_; }
  std::string text() const { return count_ <= 5 ? text_ : fmt::format("{} and {} more", text_, count_ - 5); }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

Shape shape_of(const ParamSource& source) {
  if (source.module == nullptr) return source.tensor->shape;
  return {source.module->reading.extent.rows, source.module->reading.extent.cols};
}

ParamSource find_source(const Checkpoint& checkpoint, const Param& param) {
  if (!param.is_matrix()) return {.tensor = checkpoint.container().find(param.name)};
  return {.module = checkpoint.find(module_of(param.name))};
}

// What takes part in the model: roles other than these are kept beside a weight, and go with it.
bool is_weight(Role role) { return role == Role::kDense || role == Role::kCodes; }

void require_nothing_extra(const Checkpoint& checkpoint, const std::set<std::string, std::less<>>& used,
                           const LoadOptions& options) {
  NameList extra;
  for (const StoredTensor& tensor : checkpoint.container().tensors()) {
    const Checkpoint::Place place = checkpoint.place(tensor);
    if (!is_weight(place.role)) continue;
    const std::string_view name = place.module.empty() ? std::string_view(tensor.name) : std::string_view(place.module);
    if (used.count(name) != 0 || used.count(tensor.name) != 0) continue;
    if (!options.may_be_extra || !options.may_be_extra(tensor.name)) extra.add(tensor.name);
  }
  require(extra.count() == 0, Errc::kCorrupt, "the checkpoint has {} tensors that the model has no place for: {}",
          extra.count(), extra.text());
}

Tensor widened(const Tensor& t) {
  Tensor wide(DType::kF32, t.shape());
  read_floats(t, 0, {wide.as<float>(), static_cast<std::size_t>(wide.count())});
  return wide;
}

void load_param(Stream& stream, const Checkpoint& checkpoint, const ParamSource& source, Param& param) {
  if (source.module == nullptr) {
    param.vector = widened(checkpoint.load_tensor(*source.tensor));
  } else if (source.module->is_quantized()) {
    param.matrix = pack(stream, checkpoint.load(*source.module));
  } else {
    param.matrix = pack(stream, checkpoint.load_dense_rows(*source.module, 0, param.shape[0]));
  }
  ++param.version;
}

}  // namespace

std::vector<ParamSource> find_param_sources(const Checkpoint& checkpoint, std::span<Param* const> params,
                                            const LoadOptions& options) {
  std::vector<ParamSource> sources;
  std::set<std::string, std::less<>> used;
  NameList missing;
  for (const Param* param : params) {
    const ParamSource source = find_source(checkpoint, *param);
    if (source.module == nullptr && source.tensor == nullptr) {
      missing.add(param->name);
      continue;
    }
    require(shape_of(source) == param->shape, Errc::kShape, "{} is {}, the configuration asks for {}", param->name,
            shape_text(shape_of(source)), shape_text(param->shape));
    if (source.module != nullptr && source.module->companion != nullptr)
      fail(Errc::kUnsupported, "{} is used with {}, which no kernel applies", param->name,
           source.module->companion->name);
    sources.push_back(source);
    used.emplace(source.module != nullptr ? std::string_view(source.module->name) : source.tensor->name);
  }
  require(missing.count() == 0, Errc::kNotFound, "the model needs {} tensors that the checkpoint lacks: {}",
          missing.count(), missing.text());
  require_nothing_extra(checkpoint, used, options);
  return sources;
}

void load_params(Stream& stream, const Checkpoint& checkpoint, std::span<Param* const> params,
                 const LoadOptions& options) {
  checkpoint.require_usable();
  const std::vector<ParamSource> sources = find_param_sources(checkpoint, params, options);
  std::uint64_t total = 0;
  const auto bytes_of = [](const ParamSource& s) { return s.module != nullptr ? s.module->bytes() : s.tensor->bytes; };
  for (const ParamSource& source : sources) total += bytes_of(source);
  Progress progress("loading", total, options.show_progress ? ProgressMode::kAuto : ProgressMode::kNever,
                    options.check);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    try {
      load_param(stream, checkpoint, sources[i], *params[i]);
    } catch (Error& e) {
      e.add_note("loading " + params[i]->name);
      throw;
    }
    progress.add(bytes_of(sources[i]));
  }
}

}  // namespace tessera
