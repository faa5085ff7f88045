// Converts a checkpoint from any dialects into one: codes and block scales byte for byte, globals with their original
// bits (law 7). What the target cannot say is refused by name, or requantized where that is asked for.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

struct ConvertOptions {
  const Dialect* dialect = nullptr;
  bool requantize = false;  // formats that the target cannot say become its nearest one, by its own writer
  bool show_progress = false;
  std::function<void()> check = {};  // called often, on any thread; what it throws ends the work
};

struct ConvertReport {
  std::size_t converted = 0;                 // quantized modules
  std::vector<std::string> requantized{};    // "NAME: nvfp4_32 -> nvfp4"
  std::vector<ContainerWarning> warnings{};  // what was left out, and why
  std::uint64_t bytes_before = 0, bytes_after = 0;
};

// Writes `out`, or leaves it absent. Throws kInvalid: nothing is quantized; kUnsupported: formats that the target
// cannot say; kCorrupt: scales that no writer means; and what reading and writing throw.
ConvertReport convert_checkpoint(Stream& stream, const Checkpoint& in, const std::string& out,
                                 const ConvertOptions& options);

}  // namespace tessera
