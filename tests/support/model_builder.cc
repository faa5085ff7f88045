#include "tests/support/model_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tessera/base/file.h"
#include "tessera/io/safetensors_writer.h"
#include "tessera/kernels/quantize.h"
#include "tessera/numeric/lanes.h"

namespace tessera::test {
namespace {

void put(Tensor& t, std::int64_t i, float value) {
  if (t.dtype() == DType::kF32) {
    t.as<float>()[i] = value;
  } else {
    t.as<std::uint16_t>()[i] = bits16(t.dtype(), value);
  }
  TESSERA_ASSERT(element_as_float(t, i) == value || value != value);  // exact, but for NaN
}

}  // namespace

ModelBuilder& ModelBuilder::numbers(const std::string& name, DType dtype, Shape shape, std::vector<float> values) {
  Tensor t(dtype, std::move(shape));
  if (values.size() == 1) values.assign(static_cast<std::size_t>(t.count()), values[0]);
  TESSERA_ASSERT(static_cast<std::int64_t>(values.size()) == t.count());
  for (std::int64_t i = 0; i < t.count(); ++i) put(t, i, values[static_cast<std::size_t>(i)]);
  tensors_.push_back({name, std::move(t), shards_ - 1});
  return *this;
}

ModelBuilder& ModelBuilder::bytes(const std::string& name, DType dtype, Shape shape, std::vector<std::uint8_t> bytes) {
  Tensor t(dtype, std::move(shape));
  if (bytes.size() == 1) bytes.assign(t.bytes(), bytes[0]);
  TESSERA_ASSERT(bytes.size() == t.bytes());
  if (!bytes.empty()) std::memcpy(t.data(), bytes.data(), bytes.size());
  tensors_.push_back({name, std::move(t), shards_ - 1});
  return *this;
}

ModelBuilder& ModelBuilder::file(const std::string& name, std::string_view text) {
  files_[name] = text;
  return *this;
}

ModelBuilder& ModelBuilder::metadata(const std::string& key, const std::string& value) {
  metadata_[key] = value;
  return *this;
}

ModelBuilder& ModelBuilder::next_shard() {
  ++shards_;
  return *this;
}

void ModelBuilder::write_shard(const std::string& path, int shard) const {
  std::vector<PlannedTensor> plan;
  for (const Entry& e : tensors_)
    if (e.shard == shard) plan.push_back({e.name, e.tensor.dtype(), e.tensor.shape(), ""});
  SafetensorsWriter writer(path, plan, metadata_);
  for (const Entry& e : tensors_)
    if (e.shard == shard) writer.write(e.name, 0, e.tensor.span());
  writer.finish();
}

const std::string& ModelBuilder::write(const std::string& folder) const {
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files_) write_file(folder + "/" + name, text);
  if (shards_ == 1) {
    write_shard(folder + "/model.safetensors", 0);
    return folder;
  }
  const auto shard_name = [&](int shard) {
    return fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards_);
  };
  Json map = JsonObject{};
  for (const Entry& e : tensors_) map.set(e.name, shard_name(e.shard));
  for (int shard = 0; shard < shards_; ++shard) write_shard(folder + "/" + shard_name(shard), shard);
  Json index;
  index.set("metadata", JsonObject{});
  index.set("weight_map", std::move(map));
  write_file(folder + "/model.safetensors.index.json", index.dump());
  return folder;
}

std::vector<float> values_of(const Checkpoint& model, std::string_view module) {
  const Module* m = model.find(module);
  if (m == nullptr) {
    ADD_FAILURE() << module << " is no module";
    return {};
  }
  const Tensor loaded = m->is_quantized() ? Tensor() : model.load_tensor(*m->codes);
  Stream stream(kCpu, 1);
  const Tensor t = m->is_quantized() ? dequantize(stream, model.load(*m)) : loaded;
  std::vector<float> values(static_cast<std::size_t>(t.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as_float(t, static_cast<std::int64_t>(i));
  return values;
}

Error refusal_of(const std::string& folder) {
  return error_of([&] {
    const Checkpoint model = Checkpoint::open(folder);
    model.require_usable();
    for (const Module& m : model.modules())
      if (m.is_quantized()) model.load(m);
  });
}

void fail_without_error() { ADD_FAILURE() << "there is no error"; }

}  // namespace tessera::test
