// L1: how fast the tensors of a safetensors file reach memory, cold and warm, against plain reads of the same file in
// the same run. Usage: bench_load [FOLDER [GIB]]; default: the temporary folder, 2. Prints a table; removes its file.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/output.h"
#include "tessera/io/parallel_reader.h"
#include "tessera/io/safetensors_writer.h"

namespace tessera {
namespace {

constexpr std::uint64_t kRequest = 8u << 20;
constexpr int kRequestsAtOnce = 8;
constexpr int kRepeats = 3;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Layers as a model has them: mostly large tensors, a few small ones between.
std::vector<PlannedTensor> plan_model(std::uint64_t bytes) {
  constexpr std::int64_t kLarge = 48 << 20, kSmall = 7 * 1000;
  std::vector<PlannedTensor> plan;
  for (std::uint64_t planned = 0, i = 0; planned < bytes; planned += kLarge + kSmall, ++i) {
    plan.push_back({fmt::format("layers.{}.weight", i), DType::kU8, {kLarge}, ""});
    plan.push_back({fmt::format("layers.{}.norm", i), DType::kU8, {kSmall}, ""});
  }
  return plan;
}

void write_model(const std::string& path, const std::vector<PlannedTensor>& plan) {
  SafetensorsWriter writer(path, plan);
  std::uint64_t state = 1;  // bytes that no disk can compress
  std::vector<std::uint64_t> words;
  for (const PlannedTensor& tensor : plan) {
    const std::uint64_t bytes = planned_bytes(tensor);
    words.resize((bytes + 7) / 8);
    for (std::uint64_t& word : words) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      word = state;
    }
    writer.write(tensor.name, 0, std::as_bytes(std::span(words)).first(bytes));
  }
  writer.finish();
}

// What the disk gives: direct reads in order, several at once, of nothing but bytes.
void read_plain_direct(const std::string& path) {
  const std::optional<File> file = File::open_direct(path);
  require(file.has_value(), Errc::kUnsupported, "{}: the file system has no direct reads", path);
  const std::uint64_t size = file->size();
  std::atomic<std::uint64_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kRequestsAtOnce; ++i)
    threads.emplace_back([&] {
      const std::unique_ptr<void, void (*)(void*)> buffer(std::aligned_alloc(File::kAlignment, kRequest), std::free);
      for (std::uint64_t at; (at = next.fetch_add(kRequest)) < size;)
        file->read_once(at, {static_cast<std::byte*>(buffer.get()), kRequest});
    });
  for (std::thread& thread : threads) thread.join();
}

void read_plain_buffered(const std::string& path) {
  const File file = File::open(path);
  std::vector<std::byte> buffer(1 << 20);
  for (std::uint64_t at = 0, got = 1; got > 0; at += got) got = file.read_once(at, buffer);
}

class Model final {
 public:
  explicit Model(const std::string& path) : container_(Container::open(path)) {
    for (const StoredTensor& tensor : container_.tensors()) {
      ranges_.push_back(whole(tensor));
      bytes_ += tensor.bytes;
    }
    arena_.assign(bytes_, std::byte{1});  // touched: page faults are not the disk's
    std::size_t at = 0;
    for (const TensorRange& range : ranges_) {
      into_.push_back(std::span(arena_).subspan(at, range.bytes));
      at += range.bytes;
    }
  }
  std::uint64_t bytes() const { return bytes_; }

  void read_in_parallel() { read_parallel_into(container_, ranges_, into_, {.threads = kRequestsAtOnce}); }
  // A mapping of its own: pages that stay mapped cannot leave the page cache.
  void copy_from_map() {
    const Container fresh = Container::open(container_.path());
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const std::span<const std::byte> stored = fresh.map(*ranges_[i].tensor);
      std::memcpy(into_[i].data(), stored.data(), stored.size());
    }
  }

 private:
  Container container_;
  std::vector<TensorRange> ranges_;
  std::vector<std::span<std::byte>> into_;
  std::vector<std::byte> arena_;
  std::uint64_t bytes_ = 0;
};

struct Way {
  const char* name;
  std::function<void()> read;
  std::vector<double> cold, warm;  // seconds
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const std::string& folder, double gibibytes) {
  const OutputFolder output(folder + "/bench_load");  // never committed: removed at the end
  const std::string path = output.file("model.safetensors");
  write_model(path, plan_model(static_cast<std::uint64_t>(gibibytes * 1073741824.0)));
  Model model(path);
  std::vector<Way> ways{{"plain direct reads, 8 at once", [&] { read_plain_direct(path); }, {}, {}},
                        {"plain buffered read", [&] { read_plain_buffered(path); }, {}, {}},
                        {"copy from a mapping", [&] { model.copy_from_map(); }, {}, {}},
                        {"read_parallel", [&] { model.read_in_parallel(); }, {}, {}}};
  const File file = File::open(path);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (Way& way : ways) {  // the ways alternate, so that a slow minute of the disk meets all
      file.drop_cache();
      way.cold.push_back(seconds_of(way.read));
    }
    read_plain_buffered(path);
    for (Way& way : ways) way.warm.push_back(seconds_of(way.read));
  }

  const double gigabytes = static_cast<double>(model.bytes()) / 1e9;
  std::printf("| way (%.2f GB, median of %d) | cold GB/s | warm GB/s | cold, of direct | cold, of buffered |\n",
              gigabytes, kRepeats);
  std::printf("|---|---|---|---|---|\n");
  for (const Way& way : ways) {
    const double cold = median(way.cold);
    std::printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", way.name, gigabytes / cold, gigabytes / median(way.warm),
                median(ways[0].cold) / cold, median(ways[1].cold) / cold);
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  try {
    const std::string folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
    tessera::run(folder, argc > 2 ? std::strtod(argv[2], nullptr) : 2.0);
  } catch (const tessera::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return tessera::exit_status(e.code());
  }
  return 0;
}
