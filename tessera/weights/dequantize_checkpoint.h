// Dequantizes a checkpoint: every quantized weight becomes one dense tensor NAME.weight, with the exporter's own values
// (law 3) rounded once to the dtype asked for. Other tensors stay as they are; scales and declarations go.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

struct DequantizeOptions {
  DType dtype = DType::kBf16;  // or kF32, kF16
  bool show_progress = false;
  std::function<void()> check = {};  // called often, on any thread; what it throws ends the work
};

struct DequantizeReport {
  std::size_t dequantized = 0;
  std::vector<ContainerWarning> warnings{};
  std::uint64_t bytes_before = 0, bytes_after = 0;
};

// Writes `out`, or leaves it absent. Throws kInvalid: nothing is quantized; kCorrupt: scales that no writer means; and
// what reading and writing throw.
DequantizeReport dequantize_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                       const DequantizeOptions& options);

// The configuration without its quantization: what is left declares dense weights.
void erase_declarations(ModelConfig& config);

}  // namespace tessera
