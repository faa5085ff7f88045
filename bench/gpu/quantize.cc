// Q3 and D1: quantize and dequantize 16384 x 8192 on a GPU, as a fraction of what a device copy moves in the same run.
//   gpu_bench [FILE [COUNT]]    prints a table, of the first COUNT formats and writers; writes it to FILE too
// Bytes are counted once each: bf16 in, codes and scales out (the other way round for dequantize). Windows of several
// launches between two events, over buffers rotated beyond L2, alternating with windows of the copy; medians of 25.
#include "tessera/kernels/cuda/quantize.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/tensor/cuda_check.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera {
namespace {

constexpr Extent kExtent{16384, 8192};
constexpr int kBuffers = 4;
constexpr int kLaunches = 8;
constexpr int kWindows = 25;
const Device kGpu{Device::Kind::kCuda, 0};

struct Row {
  std::string name, gate, aim;
  double bytes = 0;
  std::function<void(int)> launch{};
  std::vector<float> times{}, copy_times{};
};

float median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
float tenth(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 10];
}

class Clock final {
 public:
  explicit Clock(Stream& stream) : stream_(static_cast<cudaStream_t>(stream.native())) {
    TESSERA_CUDA_CHECK(cudaEventCreate(&start_));
    TESSERA_CUDA_CHECK(cudaEventCreate(&stop_));
  }
  // Milliseconds of one launch, of `count` in a row.
  float window(const std::function<void(int)>& launch, int count) {
    TESSERA_CUDA_CHECK(cudaEventRecord(start_, stream_));
    for (int i = 0; i < count; ++i) launch(i);
    TESSERA_CUDA_CHECK(cudaEventRecord(stop_, stream_));
    TESSERA_CUDA_CHECK(cudaEventSynchronize(stop_));
    float ms = 0;
    TESSERA_CUDA_CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return ms / static_cast<float>(count);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_{}, stop_{};
};

// Weights-like numbers, never zero: a block of 64 MiB, again and again.
Tensor random_matrix(Stream& gpu, std::uint64_t seed) {
  const std::int64_t period = std::int64_t{1} << 25;
  Tensor host(DType::kBf16, {period});
  for (std::int64_t i = 0; i < period; i += 4) {
    const Philox4 drawn = philox(static_cast<std::uint32_t>(seed), 7, {{static_cast<std::uint32_t>(i), 0, 0, 0}});
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t w = drawn.word[k];
      const float sum = static_cast<float>(w & 255) + static_cast<float>(w >> 8 & 255) +
                        static_cast<float>(w >> 16 & 255) + static_cast<float>(w >> 24) - 509.5f;
      host.as<std::uint16_t>()[i + k] = bits16(DType::kBf16, round_to(DType::kBf16, sum * (0.02f / 148.f)));
    }
  }
  Tensor x(DType::kBf16, {kExtent.rows, kExtent.cols}, kGpu);
  for (std::int64_t at = 0; at < kExtent.count(); at += period)
    cuda::copy(x.as<std::uint16_t>() + at, host.data(), host.bytes(), gpu.native());
  return x;
}

// A job of a whole matrix, with its output.
struct Job {
  QuantizedTensor out;
  std::unique_ptr<QuantizeJob> job;
};
Job make_job(Stream& gpu, const Tensor& x, const Format& format, const Writer& writer, float amax) {
  Job made;
  made.out = empty_quantized(format, x.extent(), kGpu);
  made.out.sense = writer.sense;
  const float global = writer.global(format, amax, x.dtype());
  if (format.has_global) made.out.global = scalar(global, kGpu).reshaped({1});
  gpu.synchronize();
  return made;
}

class Bench final {
 public:
  explicit Bench(Stream& gpu) : gpu_(gpu), clock_(gpu) {
    for (int i = 0; i < kBuffers; ++i) x_.push_back(random_matrix(gpu, static_cast<std::uint64_t>(i) + 1));
    for (int i = 0; i < kBuffers; ++i) y_.emplace_back(DType::kBf16, Shape{kExtent.rows, kExtent.cols}, kGpu);
    amax_ = observe(gpu, x_[0]).tensor;
    not_finite_ = Tensor(DType::kU64, {1}, kGpu);
    Tensor ones(DType::kU64, {1});
    *ones.as<std::uint64_t>() = ~std::uint64_t{0};
    cuda::copy(not_finite_.data(), ones.data(), ones.bytes(), gpu.native());
  }

  void add_quantize(const char* format_name, const char* writer_name, const char* gate, const char* aim) {
    const Format& format = find_format(format_name);
    const Writer& writer = find_writer(writer_name);
    for (int i = 0; i < kBuffers; ++i) {
      auto held = std::make_shared<Job>(make_job(gpu_, x_[static_cast<std::size_t>(i)], format, writer, amax_));
      const Tensor& x = x_[static_cast<std::size_t>(i)];
      held->job.reset(new QuantizeJob{.x = x,
                                      .extent = x.extent(),
                                      .whole = x.extent(),
                                      .writer = writer,
                                      .encode = writer.encode(format, x.dtype()),
                                      .grid = block_grid(format, x.extent(), {}),
                                      .tensor_amax = amax_,
                                      .global = writer.global(format, amax_, x.dtype()),
                                      .agreed = {},
                                      .key = {.seed = 1, .stream = 2},
                                      .scales_given = false,
                                      .out = held->out});
      jobs_.push_back(held);
    }
    const std::size_t first = jobs_.size() - kBuffers;
    check_rows(*jobs_[first], format, writer);
    Row row{.name = fmt::format("quantize {} ({}), {}", format_name, writer_name,
                                cuda::chosen_variant(gpu_, *jobs_[first]->job)),
            .gate = gate,
            .aim = aim};
    row.bytes = 2.0 * static_cast<double>(kExtent.count()) +
                static_cast<double>(jobs_[first]->out.codes.bytes() + jobs_[first]->out.scales.bytes());
    row.launch = [this, first](int i) {
      cuda::queue_quantize(gpu_, *jobs_[first + static_cast<std::size_t>(i % kBuffers)]->job,
                           not_finite_.as<unsigned long long>());
    };
    measure(std::move(row));
  }

  // Of what the last add_quantize() made.
  void add_dequantize(const char* gate, const char* aim) {
    const std::size_t first = jobs_.size() - kBuffers;
    const QuantizedTensor& q = jobs_[first]->out;
    check_values(q);
    Row row{.name = fmt::format("dequantize {} to bf16", format_label(q.format)), .gate = gate, .aim = aim};
    row.bytes = 2.0 * static_cast<double>(kExtent.count()) + static_cast<double>(q.codes.bytes() + q.scales.bytes());
    row.launch = [this, first](int i) {
      const auto k = static_cast<std::size_t>(i % kBuffers);
      cuda::dequantize(gpu_, jobs_[first + k]->out, y_[k]);
    };
    measure(std::move(row));
  }

  void forget_jobs() {
    gpu_.synchronize();
    jobs_.clear();
  }

  // What writing alone reaches: dequantizing is mostly that.
  void add_fill() {
    Row row{.name = "fill (cudaMemset)", .gate = "-", .aim = "-"};
    row.bytes = 2.0 * static_cast<double>(kExtent.count());
    row.launch = [this](int i) {
      TESSERA_CUDA_CHECK(cudaMemsetAsync(y_[static_cast<std::size_t>(i % kBuffers)].data(), 0x5a, y_[0].bytes(),
                                         static_cast<cudaStream_t>(gpu_.native())));
    };
    measure(std::move(row));
  }

  void add_amax() {
    Row row{.name = "amax of bf16 (waits for the answer)", .gate = "-", .aim = "-"};
    row.bytes = 2.0 * static_cast<double>(kExtent.count());
    row.launch = [this](int i) { cuda::amax(gpu_, x_[static_cast<std::size_t>(i % kBuffers)]); };
    measure(std::move(row));
  }

  std::string table() const {
    std::string text = "| operation | gate | aim | fraction of copy | GB/s | us, median | us, p10 | copy GB/s |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    for (const Row& row : rows_) {
      const double rate = row.bytes / median(row.times) * 1e-6, copy = copy_rate(row);
      text += fmt::format("| {} | {} | {} | **{:.3f}** | {:.0f} | {:.1f} | {:.1f} | {:.0f} |\n", row.name, row.gate,
                          row.aim, rate / copy, rate, median(row.times) * 1e3, tenth(row.times) * 1e3, copy);
    }
    return text;
  }

 private:
  static double copy_rate(const Row& row) {
    return 4.0 * static_cast<double>(kExtent.count()) / median(row.copy_times) * 1e-6;
  }

  // Rows of the whole's result against the reference.
  void check_rows(Job& made, const Format& format, const Writer& writer) {
    cuda::queue_quantize(gpu_, *made.job, not_finite_.as<unsigned long long>());
    if (format.block.rows != 1 || format.block.cols == 0) return;
    Stream cpu(kCpu, 1);
    cpu.set_cpu_tier(CpuTier::kReference);
    for (const std::int64_t row : {std::int64_t{0}, kExtent.rows - 1}) {
      const Tensor x = copy(gpu_, made.job->x.slice(row, row + 1), kCpu);
      const QuantizeContext where{
          .whole = kExtent, .row = row, .maxima = Maxima{.tensor = amax_}, .key = made.job->key};
      const QuantizedTensor expected = quantize(cpu, x, {.format = format, .writer = &writer}, where);
      const QuantizedTensor found = copy(gpu_, slice_rows(made.out, row, row + 1), kCpu);
      require(std::ranges::equal(expected.codes.span(), found.codes.span()) &&
                  std::ranges::equal(expected.scales.span(), found.scales.span()),
              Errc::kInvalid, "{} by {}: row {} differs from the reference", format.name, writer.name, row);
    }
  }
  void check_values(const QuantizedTensor& q) {
    cuda::dequantize(gpu_, q, y_[0]);
    Stream cpu(kCpu, 1);
    cpu.set_cpu_tier(CpuTier::kReference);
    const std::int64_t begin = 128, end = begin + block_in(q.format, q.extent).rows;
    const Tensor expected = dequantize(cpu, copy(gpu_, slice_rows(q, begin, end), kCpu), DType::kBf16);
    require(std::ranges::equal(expected.span(), copy(gpu_, y_[0].slice(begin, end), kCpu).span()), Errc::kInvalid,
            "dequantize {}: rows from {} differ from the reference", q.format.name, begin);
  }

  void measure(Row row) {
    const auto copy_launch = [this](int i) {
      TESSERA_CUDA_CHECK(cudaMemcpyAsync(y_[static_cast<std::size_t>(i % kBuffers)].data(),
                                         x_[static_cast<std::size_t>(i % kBuffers)].data(), x_[0].bytes(),
                                         cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(gpu_.native())));
    };
    clock_.window(copy_launch, kLaunches);
    clock_.window(row.launch, kLaunches);
    for (int i = 0; i < kWindows; ++i) {
      row.copy_times.push_back(clock_.window(copy_launch, kLaunches));
      row.times.push_back(clock_.window(row.launch, kLaunches));
    }
    std::printf("%-60s %.3f of copy, %.1f us\n", row.name.c_str(),
                row.bytes / median(row.times) * 1e-6 / copy_rate(row), static_cast<double>(median(row.times)) * 1e3);
    std::fflush(stdout);
    rows_.push_back(std::move(row));
  }

  Stream& gpu_;
  Clock clock_;
  std::vector<Tensor> x_, y_;
  std::vector<std::shared_ptr<Job>> jobs_;
  Tensor not_finite_;
  float amax_ = 0;
  std::vector<Row> rows_;
};

int run(const char* path, int count) {
  if (cuda::device_count() == 0) {
    fmt::print("no device: {}\n", cuda::availability());
    return 0;
  }
  Stream gpu(kGpu, 1);
  Bench bench(gpu);
  struct Case {
    const char *format, *writer, *gate, *aim, *back_gate, *back_aim;
  };
  const Case cases[] = {{"fp8_1x128", "nearest", "0.85", "0.95", "-", "-"},
                        {"mxfp8", "nearest", "0.85", "0.95", "-", "-"},
                        {"nvfp4", "nearest", "0.80", "0.90", "0.88", "0.95"},
                        {"mxfp4", "nearest", "-", "-", "-", "-"},
                        {"nvfp4", "modelopt", "0.80", "0.90", "", ""},
                        {"nvfp4", "compressed-tensors", "0.80", "0.90", "", ""},
                        {"fp8_1x128", "deepseek", "0.85", "0.95", "", ""},
                        {"fp8_1x128", "compressed-tensors", "0.85", "0.95", "", ""},
                        {"mxfp4", "modelopt", "-", "-", "", ""},
                        {"fp8_channel", "nearest", "-", "-", "-", "-"},
                        {"fp8_block", "deepseek", "-", "-", "-", "-"},
                        {"nvfp4_square", "nearest", "-", "-", "-", "-"},
                        {"mxfp8", "stochastic", "-", "-", "", ""},
                        {"nvfp4", "four-over-six", "-", "-", "", ""},
                        {"mxfp4", "ggml", "-", "-", "", ""}};
  for (const Case& c : cases) {
    if (count-- <= 0) break;
    bench.add_quantize(c.format, c.writer, c.gate, c.aim);
    if (c.back_gate[0] != '\0') bench.add_dequantize(c.back_gate, c.back_aim);
    bench.forget_jobs();
  }
  bench.add_amax();
  bench.add_fill();
  const std::string text = fmt::format("{}; {} x {} bf16, {} windows of {} launches\n\n{}", cuda::availability(),
                                       kExtent.rows, kExtent.cols, kWindows, kLaunches, bench.table());
  fmt::print("\n{}", text);
  if (path != nullptr) std::ofstream(path) << text;
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  try {
    return tessera::run(argc > 1 ? argv[1] : nullptr, argc > 2 ? std::atoi(argv[2]) : 1000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
