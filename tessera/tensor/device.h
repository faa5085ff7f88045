// Where bytes live and where work runs. A Device is a name; a Stream is an order of work on a device.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/threads.h"

namespace tessera {

struct Device {
  enum class Kind : std::uint8_t { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;
  constexpr bool is_cpu() const { return kind == Kind::kCpu; }
  constexpr bool operator==(const Device&) const = default;
};
inline constexpr Device kCpu{};
std::string device_name(Device device);      // "cpu", "cuda:0"
Device parse_device(std::string_view text);  // "cpu", "cuda", "cuda:1"; throws kInvalid, or kUnsupported on this build

// The instruction sets that CPU kernels are compiled for, weakest first. Every tier gives the same bits (law 11 on one
// device).
enum class CpuTier : std::uint8_t { kReference, kAvx2, kAvx512, kAvx512Bf16 };
CpuTier best_cpu_tier();                        // from CPUID, and what the system saves of the registers
std::string_view cpu_tier_name(CpuTier tier);   // "reference", "avx2", "avx512", "avx512_bf16"
CpuTier parse_cpu_tier(std::string_view text);  // throws kInvalid listing the names; kUnsupported beyond this machine

// Work is done in the order it is given. On the CPU it is done on return, by `threads` threads of the pool, and no
// result depends on their number; on CUDA it is queued, and synchronize() waits for it.
class Stream final {
 public:
  explicit Stream(Device device = kCpu,
                  int threads = 0);  // 0: as many as the machine has; throws kUnsupported, kResource
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  Device device() const { return device_; }
  CpuTier cpu_tier() const { return tier_; }
  void set_cpu_tier(CpuTier tier) { tier_ = tier; }  // caps what kernels may use
  ThreadPool& pool() { return *pool_; }
  void* native() const { return native_; }  // cudaStream_t; null on the CPU
  void synchronize();                       // throws kResource when the device reports a fault

 private:
  Device device_;
  CpuTier tier_;
  std::unique_ptr<ThreadPool> pool_;
  void* native_ = nullptr;
};

}  // namespace tessera
