#include "tessera/weights/model_output.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>

#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

constexpr std::uint64_t kPiece = 2u << 20;  // bytes: a core's own cache holds it, and the allocator keeps it

bool is_side_file(const std::filesystem::directory_entry& entry) {
  if (!entry.is_regular_file()) return false;
  const std::string name = entry.path().filename().string();
  constexpr std::array kWritten{"config.json", "hf_quant_config.json", "quantization_config.json",
                                "quantize_config.json", "recipe.yaml"};
  constexpr std::array kWeights{".safetensors", ".gguf", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".npz"};
  if (name.starts_with(".") || name.ends_with(".safetensors.index.json")) return false;
  return std::find(kWritten.begin(), kWritten.end(), name) == kWritten.end() &&
         std::find(kWeights.begin(), kWeights.end(), entry.path().extension().string()) == kWeights.end();
}

}  // namespace

ModelOutput::ModelOutput(const Checkpoint& from, const std::string& out, ModelPlan plan)
    : from_(from), plan_(std::move(plan)), folder_(out) {
  ShardOptions options;
  for (const auto& [key, value] : plan_.config.metadata) options.metadata[key] = value;
  if (!plan_.globals.empty()) options.metadata[std::string(kGlobalsKey)] = plan_.globals.text();
  writer_ = std::make_unique<ShardedWriter>(folder_.path(), plan_.tensors, options);
}

void ModelOutput::commit() {
  writer_->finish();
  writer_.reset();
  if (plan_.config.config.is_object()) write_file(folder_.file("config.json"), plan_.config.config.dump(2) + "\n");
  if (plan_.config.sidecar.is_object())
    write_file(folder_.file("hf_quant_config.json"), plan_.config.sidecar.dump(2) + "\n");
  const std::string source = from_.container().folder();
  if (from_.container().kind() == Container::Kind::kFolder) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(source.empty() ? "." : source)) {
      if (!is_side_file(entry)) continue;
      std::filesystem::copy_file(entry.path(), folder_.file(entry.path().filename().string()), error);
      require(!error, Errc::kResource, "copying {}: {}", entry.path().string(), error.message());
    }
  }
  folder_.commit();
}

void copy_tensor(const Container& from, const StoredTensor& tensor, std::string_view name, ShardedWriter& to,
                 Progress& progress) {
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kPiece, tensor.bytes)));
  for (std::uint64_t at = 0; at < tensor.bytes; at += piece.size()) {
    const auto part =
        std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), tensor.bytes - at)));
    from.read(tensor, at, part);
    to.write(name, at, part);
    progress.add(part.size());
  }
}

void run_jobs(ThreadPool& pool, std::size_t count, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  std::mutex lock;
  std::size_t failed = count;
  std::exception_ptr error;
  pool.run([&](int) {
    while (true) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count) return;
      try {
        job(i);
      } catch (...) {
        const std::lock_guard guard(lock);
        next = count;
        if (i < failed) {
          failed = i;
          error = std::current_exception();
        }
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

std::int64_t stripe_rows(const Format& format, Extent extent, int bits_per_element, std::int64_t granule) {
  const std::int64_t step = std::max(granule, format.block.rows == 0 ? 1 : block_in(format, extent).rows);
  const std::int64_t row = std::max<std::int64_t>(1, extent.cols * bits_per_element / 8);
  const std::int64_t rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(kPiece) / row);
  return std::max(step, rows / step * step);
}

}  // namespace tessera
