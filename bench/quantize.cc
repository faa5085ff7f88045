// Q1, Q2, D1: quantizing and dequantizing on the CPU, as fractions of what memory gives in the same run.
// Usage: bench_quantize [--json] [--threads N] [--windows N] [--tier NAME] [--format NAME]...
//
// Every window of work stands between a window of reading and one of copying past the caches; rates are the tenth
// percentile of the windows (spec/performance.md 3.4). Sources rotate through 768 MiB, outputs are written again and
// again, as a layer's are. Bytes of quantizing: the source once and the result once, whether or not the maximum of the
// tensor had to be found first.
#include "tessera/kernels/reference/quantize.h"

#include "bench/measure.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/kernels/quantize_job.h"

namespace tessera {
namespace {

using bench::read_avx512;
using bench::seconds_of;
using bench::tenth_percentile;

constexpr Extent kMatrix{8192, 4096};  // 64 MiB of bf16
constexpr int kSources = 12;

struct Options {
  bool json = false;
  int threads = 1, windows = 25;
  std::string tier{};
  std::vector<std::string> formats{};
};

struct Gate {
  double gate, aim;
};
// spec/performance.md 3.3; formats that it does not name are held to their kin.
Gate quantize_gate(const Format& f) { return f.element == kE2M1 ? Gate{0.30, 0.55} : Gate{0.35, 0.60}; }
constexpr Gate kDequantizeGate{0.5, 0.75};

// Memory as its widest plain loops see it.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void copy_avx512(std::byte* to, const std::byte* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i + 64 <= bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  _mm_sfence();
}
bool has_avx512() { return best_cpu_tier() >= CpuTier::kAvx512; }
#else
void copy_avx512(std::byte*, const std::byte*, std::int64_t) {}
bool has_avx512() { return false; }
#endif
std::uint64_t read_bytes(const std::byte* from, std::int64_t bytes) {
  if (has_avx512()) return read_avx512(from, bytes);
  std::uint64_t sum[8] = {};
  for (std::int64_t i = 0; i + 64 <= bytes; i += 64)
    for (int k = 0; k < 8; ++k) sum[k] ^= reinterpret_cast<const std::uint64_t*>(from + i)[k];
  return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (has_avx512()) return copy_avx512(to, from, bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

class Bench final {
 public:
  explicit Bench(const Options& options) : options_(options), stream_(kCpu, options.threads) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (int s = 0; s < kSources; ++s) {
      sources_.emplace_back(DType::kBf16, Shape{kMatrix.rows, kMatrix.cols});
      // Real draws for a part of it, repeated: drawing half a gigabyte would take longer than the benchmark.
      constexpr std::int64_t kDrawn = 1 << 20;
      auto* x = sources_.back().as<std::uint16_t>();
      if (s == 0)
        for (std::int64_t i = 0; i < kDrawn; ++i)
          x[i] = bits16(DType::kBf16, round_to(DType::kBf16, normal(random) * std::exp2(normal(random))));
      const std::uint16_t* drawn = sources_.front().as<std::uint16_t>();
      for (std::int64_t i = s == 0 ? kDrawn : 0; i < kMatrix.count(); ++i) x[i] = drawn[(i + i / kDrawn + s) % kDrawn];
    }
    values_ = Tensor(DType::kBf16, {kMatrix.rows, kMatrix.cols});
    std::memset(values_.data(), 0, values_.bytes());
  }

  void run() {
    if (options_.json)
      std::printf("[");
    else
      std::printf(
          "| format | tier | operation | GB/s | memory GB/s | fraction | gate | aim | x reference |\n"
          "|---|---|---|---|---|---|---|---|---|\n");
    for (const Format* format : all_formats()) {
      const auto& wanted = options_.formats;
      if (format->is_dense() ||
          (!wanted.empty() && std::find(wanted.begin(), wanted.end(), format->name) == wanted.end()))
        continue;
      measure_reference(*format);
      for (const QuantizeImpl& impl : quantize_impls())
        if (impl.here(stream_) && impl.name != "reference" && (options_.tier.empty() || options_.tier == impl.name))
          measure(*format, impl);
    }
    if (options_.json) std::printf("\n]\n");
  }

 private:
  enum class Against { kRead, kCopy };

  Tensor& next() { return sources_[static_cast<std::size_t>(turn_++ % kSources)]; }
  double read() {
    const std::byte* from = next().data();
    const std::int64_t lines = kMatrix.count() * 2 / 64;
    return seconds_of(options_.threads, [&] {
      parallel_for(stream_.pool(), lines, [&](std::int64_t begin, std::int64_t end, int worker) {
        sink_[worker] ^= read_bytes(from + begin * 64, (end - begin) * 64);
      });
    });
  }
  double copy() {
    const std::byte* from = next().data();
    const std::int64_t lines = kMatrix.count() * 2 / 64;
    return seconds_of(options_.threads, [&] {
      parallel_for(stream_.pool(), lines, [&](std::int64_t begin, std::int64_t end, int) {
        copy_bytes(values_.data() + begin * 64, from + begin * 64, (end - begin) * 64);
      });
    });
  }

  QuantizedTensor output(const Format& format, Extent extent) {
    QuantizedTensor q = empty_quantized(format, extent);
    q.visit([](const char*, Tensor& t) { std::memset(t.data(), 0, t.bytes()); });
    return q;
  }

  void quantize_with(const QuantizeImpl& impl, const Tensor& x, QuantizedTensor& out, float amax) {
    const Writer& writer = find_writer("nearest");
    const float global = writer.global(out.format, amax, x.dtype());
    if (out.format.has_global) out.global.as<float>()[0] = global;
    const float one[] = {amax};
    const bool single = amax != 0 && out.format.block == Block{0, 0};
    const QuantizeJob job{.x = x,
                          .extent = out.extent,
                          .whole = out.extent,
                          .writer = writer,
                          .encode = writer.encode(out.format, x.dtype()),
                          .grid = block_grid(out.format, out.extent, {}),
                          .tensor_amax = amax,
                          .global = global,
                          .agreed = single ? std::span<const float>(one) : std::span<const float>{},
                          .key = {},
                          .scales_given = false,
                          .out = out};
    impl.run(stream_, job);
  }

  // Seconds an element, on a corner of the matrix.
  void measure_reference(const Format& format) {
    const QuantizeImpl& impl = quantize_impls().back();
    const Tensor x = sources_.front().slice(0, 32);
    QuantizedTensor q = output(format, x.extent());
    Tensor values(DType::kBf16, x.shape());
    const auto count = static_cast<double>(x.count());
    reference_given_ = seconds_of(options_.threads, [&] { quantize_with(impl, x, q, 5.f); }) / count;
    reference_observed_ = reference_given_;
    if (format.has_global || format.block == Block{0, 0})
      reference_observed_ += seconds_of(options_.threads, [&] { impl.amax(stream_, x); }) / count;
    reference_back_ = seconds_of(options_.threads, [&] { impl.dequantize(stream_, q, values); }) / count;
  }

  void measure(const Format& format, const QuantizeImpl& impl) {
    QuantizedTensor q = output(format, kMatrix);
    const float amax = impl.amax(stream_, sources_.front());
    const double bytes = static_cast<double>(kMatrix.count()) * 2 + static_cast<double>(q.bytes());
    report(format, impl, "quantize, amax given", Against::kRead, quantize_gate(format), bytes, reference_given_,
           [&](const Tensor& x) { quantize_with(impl, x, q, amax); });
    if (format.has_global || format.block == Block{0, 0})
      report(format, impl, "quantize, amax observed", Against::kRead, {0, 0}, bytes, reference_observed_,
             [&](const Tensor& x) { quantize_with(impl, x, q, impl.amax(stream_, x)); });
    // Codes rotate too: what is read back is not what was just written.
    std::vector<QuantizedTensor> stored;
    const int copies = static_cast<int>(std::int64_t{768} * (1 << 20) / static_cast<std::int64_t>(q.bytes())) + 1;
    for (int i = 0; i < copies; ++i) stored.push_back(tessera::copy(stream_, q, kCpu));
    std::size_t at = 0;
    report(format, impl, "dequantize to bf16", Against::kCopy, kDequantizeGate, bytes, reference_back_,
           [&](const Tensor&) { impl.dequantize(stream_, stored[at++ % stored.size()], values_); });
  }

  void report(const Format& format, const QuantizeImpl& impl, const char* what, Against against, Gate gate,
              double bytes, double reference, const std::function<void(const Tensor&)>& work) {
    std::vector<double> times, memory;
    const double memory_bytes = static_cast<double>(kMatrix.count()) * 2 * (against == Against::kCopy ? 2 : 1);
    for (int w = 0; w < options_.windows; ++w) {
      memory.push_back(against == Against::kCopy ? copy() : read());
      const Tensor& x = next();
      times.push_back(seconds_of(options_.threads, [&] { work(x); }));
    }
    memory.push_back(against == Against::kCopy ? copy() : read());
    const double seconds = tenth_percentile(times);
    const double rate = bytes / seconds * 1e-9, limit = memory_bytes / tenth_percentile(memory) * 1e-9;
    const double faster = reference * static_cast<double>(kMatrix.count()) / seconds;
    const std::string name(format.name), tier(impl.name);
    if (options_.json) {
      std::printf(
          "%s\n  {\"format\": \"%s\", \"tier\": \"%s\", \"operation\": \"%s\", \"threads\": %d, \"gbps\": %.2f, "
          "\"memory_gbps\": %.2f, \"fraction\": %.3f, \"gate\": %.2f, \"aim\": %.2f, \"x_reference\": %.0f}",
          reported_++ == 0 ? "" : ",", name.c_str(), tier.c_str(), what, options_.threads, rate, limit, rate / limit,
          gate.gate, gate.aim, faster);
      return;
    }
    std::printf("| %s | %s | %s | %.1f | %s %.1f | %.2f |", name.c_str(), tier.c_str(), what, rate,
                against == Against::kCopy ? "copy" : "read", limit, rate / limit);
    if (gate.gate > 0)
      std::printf(" %.2f | %.2f |", gate.gate, gate.aim);
    else
      std::printf(" | |");
    std::printf(" %.0f |\n", faster);
    std::fflush(stdout);
  }

  Options options_;
  Stream stream_;
  std::vector<Tensor> sources_;
  Tensor values_;
  std::uint64_t sink_[64] = {};
  int turn_ = 0, reported_ = 0;
  double reference_given_ = 0, reference_observed_ = 0, reference_back_ = 0;
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
    const auto value = [&]() -> std::string {
      require(i + 1 < count, Errc::kInvalid, "{} takes a value", word);
      return words[++i];
    };
    if (word == "--json")
      options.json = true;
    else if (word == "--threads")
      options.threads = std::stoi(value());
    else if (word == "--windows")
      options.windows = std::stoi(value());
    else if (word == "--tier")
      options.tier = value();
    else if (word == "--format")
      options.formats.push_back(value());
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
    if (!options.json)
      std::printf("%s, %d threads, bf16 %lld x %lld\n\n", tessera::processor_name().c_str(), options.threads,
                  static_cast<long long>(tessera::kMatrix.rows), static_cast<long long>(tessera::kMatrix.cols));
    tessera::Bench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
