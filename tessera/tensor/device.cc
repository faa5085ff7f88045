#include "tessera/tensor/device.h"

#include <charconv>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera {
namespace {

constexpr std::string_view kTierNames[] = {"reference", "avx2", "avx512", "avx512_bf16"};

}  // namespace

std::string device_name(Device device) { return device.is_cpu() ? "cpu" : fmt::format("cuda:{}", device.index); }

Device parse_device(std::string_view text) {
  if (text == "cpu") return kCpu;
  Device device{Device::Kind::kCuda, 0};
  const std::string_view prefix = "cuda:";
  if (text != "cuda") {
    const char* end = text.data() + text.size();
    const bool named = text.starts_with(prefix);
    const auto parsed =
        named ? std::from_chars(text.data() + prefix.size(), end, device.index) : std::from_chars_result{};
    require(named && parsed.ec == std::errc() && parsed.ptr == end && device.index >= 0, Errc::kInvalid,
            "no device '{}'; there are: cpu, cuda, cuda:INDEX", text);
  }
  const int count = cuda::device_count();
  require(device.index < count, Errc::kUnsupported, "{} is not here: {}", device_name(device), cuda::availability());
  return device;
}

CpuTier best_cpu_tier() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi"))
    return __builtin_cpu_supports("avx512bf16") ? CpuTier::kAvx512Bf16 : CpuTier::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return CpuTier::kAvx2;
#endif
  return CpuTier::kReference;
}

std::string_view cpu_tier_name(CpuTier tier) { return kTierNames[static_cast<int>(tier)]; }

CpuTier parse_cpu_tier(std::string_view text) {
  for (int i = 0; i < static_cast<int>(std::size(kTierNames)); ++i) {
    if (text != kTierNames[i]) continue;
    const auto tier = static_cast<CpuTier>(i);
    require(tier <= best_cpu_tier(), Errc::kUnsupported, "this processor has no {}; the best tier here is {}", text,
            cpu_tier_name(best_cpu_tier()));
    return tier;
  }
  fail(Errc::kInvalid, "no CPU tier '{}'; there are: {}", text, fmt::join(kTierNames, ", "));
}

Stream::Stream(Device device, int threads) : device_(device), tier_(best_cpu_tier()) {
  pool_ = std::make_unique<ThreadPool>(
      threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  if (!device.is_cpu()) native_ = cuda::create_stream(device.index);
}
Stream::~Stream() {
  if (native_ != nullptr) cuda::destroy_stream(native_);
}
Stream::Stream(Stream&& other) noexcept
    : device_(other.device_),
      tier_(other.tier_),
      pool_(std::move(other.pool_)),
      native_(std::exchange(other.native_, nullptr)) {}
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(tier_, other.tier_);
  std::swap(pool_, other.pool_);
  std::swap(native_, other.native_);
  return *this;
}
void Stream::synchronize() {
  if (native_ != nullptr) cuda::synchronize(native_);
}

}  // namespace tessera
