// V1 to V4 and P1: multiplying by packed weights on the CPU, as fractions of what memory gives and of oneDNN's bf16 in
// the same run. And pack().
// Usage: bench_gemm [--threads N] [--windows N] [--cold MIB] [--impl NAME]
//
// Cold weights rotate through --cold MiB (spec/performance.md 3.4 asks for three times the last cache; where that cache
// is shared and larger than the memory at hand, it is what memory allows). Windows of ours, of reading and of oneDNN
// follow each other; rates are the tenth percentile of the windows. One thread is measured by its own clock.
#include "tessera/kernels/gemm.h"

#include "bench/measure.h"

#ifdef TESSERA_ONEDNN
#include <omp.h>

#include <dnnl.hpp>
#endif
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize.h"

namespace tessera {
namespace {

using bench::read_avx512;
using bench::seconds_of;
using bench::tenth_percentile;

struct Options {
  int threads = 1, windows = 25;
  std::int64_t cold_mib = 1024;
  std::string impl{};
};

struct Goal {
  double gate = 0, aim = 0;
};
// spec/performance.md 3.3.
constexpr Goal kV1{0.80, 0.95}, kV3{0.65, 0.90}, kV4{0.7, 1.0}, kP1{0.85, 0.97};

std::uint64_t read_bytes(const std::byte* from, std::int64_t bytes) {
  if (best_cpu_tier() >= CpuTier::kAvx512) return read_avx512(from, bytes);
  std::uint64_t sum[8] = {};
  for (std::int64_t i = 0; i + 64 <= bytes; i += 64)
    for (int k = 0; k < 8; ++k) sum[k] ^= reinterpret_cast<const std::uint64_t*>(from + i)[k];
  return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

Tensor random_bf16(Extent e, std::uint32_t seed) {
  Tensor t(DType::kBf16, {e.rows, e.cols});
  std::mt19937 random(seed);
  auto* bits = t.as<std::uint16_t>();
  const std::int64_t count = t.count();
  for (std::int64_t i = 0; i < count; ++i) bits[i] = static_cast<std::uint16_t>((random() & 0x81ffu) | 0x3e00u);
  return t;
}

// The matrix that a product has in oneDNN: [k, n] bf16 in the layout that it prefers for this m.
#ifdef TESSERA_ONEDNN
class Peer final {
 public:
  Peer(const Tensor& w, const Tensor& x, Tensor& y) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using dnnl::memory;
    const auto type = memory::data_type::bf16;
    const std::int64_t m = x.extent().rows, k = x.extent().cols, n = w.extent().rows;
    const memory::desc source({m, k}, type, memory::format_tag::ab), any({k, n}, type, memory::format_tag::any),
        plain({k, n}, type, memory::format_tag::ba), result({m, n}, type, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc how(dnnl::matmul::desc(source, any, result), engine_);
    memory from(plain, engine_, w.data()), weights(how.weights_desc(), engine_);
    dnnl::reorder(from, weights).execute(stream_, from, weights);
    stream_.wait();
    arguments_ = {{DNNL_ARG_SRC, memory(source, engine_, x.data())},
                  {DNNL_ARG_WEIGHTS, weights},
                  {DNNL_ARG_DST, memory(result, engine_, y.data())}};
    product_ = dnnl::matmul(how);
    name_ = how.impl_info_str();
  }
  void run() {
    product_.execute(stream_, arguments_);
    stream_.wait();
  }
  const std::string& name() const { return name_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::string name_;
};
#else
class Peer final {
 public:
  Peer(const Tensor&, const Tensor&, Tensor&) {}
  void run() {}
  std::string name() const { return "none"; }
};
#endif

class Bench final {
 public:
  explicit Bench(const Options& options) : options_(options), stream_(kCpu, options.threads) {}

  void run() {
    std::printf("| row | format | w | m | kernel | GB/s | GFLOP/s | beside | fraction | gate | aim |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
    // The layers of Qwen3.5-35B-A3B (spec/performance.md 3.2).
    for (const Extent e : {Extent{1024, 2048}, Extent{2048, 512}, Extent{12352, 2048}, Extent{2048, 4096},
                           Extent{8192, 2048}, Extent{512, 2048}, Extent{31040, 2048}})
      decode("V1", "nvfp4", e, true, kV1);
    for (const Extent e : {Extent{1024, 2048}, Extent{2048, 512}}) decode("V2", "nvfp4", e, false, {});
    for (const char* format : {"mxfp8", "fp8_block", "fp8_channel"}) decode("V3", format, {2048, 4096}, true, kV3);
    for (const char* format : {"mxfp4", "bf16", "f32"}) decode("", format, {2048, 4096}, true, {});
    for (const std::int64_t m : {2, 4, 8, 16}) against_peer("V4", "nvfp4", m, m == 16 ? kV4 : Goal{});
    for (const std::int64_t m : {256, 1024}) against_peer("P1", "nvfp4", m, kP1);
    for (const char* format : {"mxfp8", "fp8_block", "bf16"}) against_peer("", format, 256, {});
    for (const char* format : {"nvfp4", "mxfp8", "fp8_channel", "bf16"}) packing(format);
  }

 private:
  PackedMatrix matrix(const char* format, Extent e) {
    const Tensor w = random_bf16(e, 1);
    const Format& f = find_format(format);
    if (f.is_scaled()) return pack(stream_, quantize(stream_, w, {f}));
    if (f.element == kE8M7) return pack(stream_, w);
    Tensor wide(DType::kF32, w.shape());
    read_floats(w, 0, {wide.as<float>(), static_cast<std::size_t>(w.count())});
    return pack(stream_, wide);
  }

  std::vector<const GemmImpl*> kernels(const PackedMatrix& w) {
    const GemmTile tile{.w = &w};
    std::vector<const GemmImpl*> result;
    for (const GemmImpl& impl : gemm_impls())
      if (impl.here(stream_) && impl.fits(tile) && impl.name != "reference" &&
          (options_.impl.empty() ? impl.pays() : options_.impl == impl.name))
        result.push_back(&impl);
    if (options_.impl.empty()) result.resize(1);
    return result;
  }

  void multiply(const GemmImpl& impl, const PackedMatrix& w, const Tensor& x, Tensor& y) {
    parallel_for(stream_.pool(), w.panel_count(), [&](std::int64_t begin, std::int64_t end, int) {
      impl.run({.x = x.data(),
                .m = x.extent().rows,
                .w = &w,
                .first_panel = begin,
                .end_panel = end,
                .y = y.data(),
                .y_stride = w.extent.rows});
    });
  }

  double read(const std::vector<PackedMatrix>& copies) {
    return seconds_of(options_.threads, [&] {
      for (const PackedMatrix& w : copies)
        parallel_for(stream_.pool(), static_cast<std::int64_t>(w.panels.bytes()) / 256,
                     [&](std::int64_t begin, std::int64_t end, int worker) {
                       sink_[worker] ^= read_bytes(w.panels.data() + begin * 256, (end - begin) * 256);
                     });
    });
  }

  // A window reads each of some copies once: 32 MiB and more of them, the next ones each time.
  void decode(const char* row, const char* format, Extent e, bool cold, Goal goal) {
    const PackedMatrix first = matrix(format, e);
    const auto bytes = static_cast<std::int64_t>(first.panels.bytes());
    const std::int64_t window = std::max<std::int64_t>(1, (std::int64_t{32} << 20) / bytes);
    const std::int64_t count = cold ? std::max(window, (options_.cold_mib << 20) / bytes) : 1;
    std::vector<PackedMatrix> copies;
    for (std::int64_t i = 0; i < count; ++i) {
      copies.push_back(first);
      copies.back().panels = Tensor(DType::kU8, first.panels.shape());
      std::memcpy(copies.back().panels.data(), first.panels.data(), first.panels.bytes());
    }
    const Tensor x = random_bf16({1, e.cols}, 2);
    Tensor y(DType::kBf16, {1, e.rows});
    for (const GemmImpl* impl : kernels(first)) {
      std::vector<double> ours, memory;
      std::int64_t at = 0;
      const auto next = [&] {
        std::vector<PackedMatrix> some;
        for (std::int64_t i = 0; i < window; ++i) some.push_back(copies[static_cast<std::size_t>(at++ % count)]);
        return some;
      };
      for (int i = 0; i < options_.windows; ++i) {
        memory.push_back(read(next()));
        const std::vector<PackedMatrix> some = next();
        ours.push_back(seconds_of(options_.threads, [&] {
          for (const PackedMatrix& w : some) multiply(*impl, w, x, y);
        }));
      }
      const double seconds = tenth_percentile(ours), moved = static_cast<double>(bytes * window);
      const double rate = moved / seconds * 1e-9, limit = moved / tenth_percentile(memory) * 1e-9;
      report(row, format, e, 1, *impl, rate, 2e-9 * static_cast<double>(e.count() * window) / seconds,
             fmt::format("{} {:.1f} GB/s", cold ? "read" : "read in cache", limit), cold ? rate / limit : 0, goal);
    }
  }

  void against_peer(const char* row, const char* format, std::int64_t m, Goal goal) {
    const Extent e{2048, 4096};
    const PackedMatrix w = matrix(format, e);
    const Tensor x = random_bf16({m, e.cols}, 2), dense = random_bf16(e, 1);
    Tensor y(DType::kBf16, {m, e.rows}), peer_y(DType::kBf16, {m, e.rows});
    Peer peer(dense, x, peer_y);
    const double flop = 2. * static_cast<double>(m * e.count());
    const int again = std::max(1, static_cast<int>(5e8 / flop));
    for (const GemmImpl* impl : kernels(w)) {
      std::vector<double> ours, theirs;
      for (int i = 0; i < options_.windows; ++i) {
        theirs.push_back(seconds_of(options_.threads, [&] {
          for (int j = 0; j < again; ++j) peer.run();
        }));
        ours.push_back(seconds_of(options_.threads, [&] {
          for (int j = 0; j < again; ++j) multiply(*impl, w, x, y);
        }));
      }
      const double seconds = tenth_percentile(ours) / again, peers = tenth_percentile(theirs) / again;
      const bool has_peer = peer.name() != "none";
      report(row, format, e, m, *impl, static_cast<double>(w.panels.bytes()) / seconds * 1e-9, flop / seconds * 1e-9,
             has_peer ? fmt::format("oneDNN bf16 ({}) {:.0f} GFLOP/s", peer.name(), flop / peers * 1e-9) : "",
             has_peer ? peers / seconds : 0, goal);
    }
  }

  void packing(const char* format) {
    const Extent e{4096, 4096};
    const Tensor dense = random_bf16(e, 1);
    const Format& f = find_format(format);
    const QuantizedTensor q = f.is_scaled() ? quantize(stream_, dense, {f}) : QuantizedTensor{};
    std::vector<double> times;
    for (int i = 0; i < options_.windows; ++i)
      times.push_back(seconds_of(options_.threads, [&] {
        const PackedMatrix w = f.is_scaled() ? pack(stream_, q) : pack(stream_, dense);
        sink_[0] ^= w.panels.as<std::uint8_t>()[0];
      }));
    const auto bytes = static_cast<double>(f.is_scaled() ? q.codes.bytes() : dense.bytes());
    std::printf("| | %s | %lld x %lld | | pack | %.1f of codes | | | | | |\n", format, static_cast<long long>(e.rows),
                static_cast<long long>(e.cols), bytes / tenth_percentile(times) * 1e-9);
  }

  void report(const char* row, const char* format, Extent e, std::int64_t m, const GemmImpl& impl, double rate,
              double flops, const std::string& beside, double fraction, Goal goal) {
    std::printf("| %s | %s | %lld x %lld | %lld | %s | %.1f | %.0f | %s | ", row, format,
                static_cast<long long>(e.rows), static_cast<long long>(e.cols), static_cast<long long>(m),
                std::string(impl.name).c_str(), rate, flops, beside.c_str());
    if (fraction > 0) std::printf("%.2f", fraction);
    if (goal.gate > 0)
      std::printf(" | %.2f | %.2f |\n", goal.gate, goal.aim);
    else
      std::printf(" | | |\n");
    std::fflush(stdout);
  }

  Options options_;
  Stream stream_;
  std::uint64_t sink_[64] = {};
};

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    require(i + 1 < count, Errc::kInvalid, "{} takes a value", word);
    const std::string value = words[++i];
    if (word == "--threads")
      options.threads = std::stoi(value);
    else if (word == "--windows")
      options.windows = std::stoi(value);
    else if (word == "--cold")
      options.cold_mib = std::stoi(value);
    else if (word == "--impl")
      options.impl = value;
    else
      fail(Errc::kInvalid, "unknown option {}", word);
  }
  return options;
}

}  // namespace
}  // namespace tessera

int main(int count, char** words) {
  try {
    const tessera::Options options = tessera::read_options(count, words);
#ifdef TESSERA_ONEDNN
    omp_set_num_threads(options.threads);
#endif
    std::printf("%s, tier %s, %d threads, cold weights rotate through %lld MiB\n\n", tessera::processor_name().c_str(),
                std::string(tessera::cpu_tier_name(tessera::best_cpu_tier())).c_str(), options.threads,
                static_cast<long long>(options.cold_mib));
    tessera::Bench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
