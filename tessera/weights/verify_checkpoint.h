// Verifies a checkpoint: alone, that every block scale and global is one that a reader can use; against the original
// weights, that they are what it should have been made from.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

enum class Verdict : std::uint8_t {
  kExact,        // a writer's rule gives these very bits from the original
  kScalesExact,  // its globals and block scales, and every code within one step of it
  kTransformed,  // near the original as far as rounding goes, as a whole and under each scale, or declared to be
                 // rotated or smoothed: not derivable from it
  kWrong,        // anything else
};
std::string_view verdict_name(Verdict verdict);  // "exact", "scales_exact", "transformed", "wrong"

struct FirstDifference {
  std::string part;  // "global", "scales", "codes"
  std::int64_t index = 0;
  std::string expected, found;
};

struct ModuleVerdict {
  std::string name, format;
  double max_abs_error = 0;   // over the matrix
  double relative_error = 0;  // |decoded - original| / |original|, Frobenius
  Verdict verdict = Verdict::kExact;
  std::string writer;                // whose rule came nearest
  std::optional<bool> bits_equal{};  // with an original
  std::optional<FirstDifference> first_difference{};
};

struct VerifyOptions {
  const Writer* writer = nullptr;  // --policy: this writer and no other
  bool show_progress = false;
  std::function<void()> check = {};  // called often, on any thread; what it throws ends the work
};

struct VerifyReport {
  std::size_t checked = 0;
  std::vector<Problem> problems;       // of the checkpoint, and what its scales show
  std::vector<ModuleVerdict> modules;  // with an original: one for each quantized module, sorted by name
  bool holds = true;
};

// Checks scales only. `original`: the dense weights it was made from, or null. Throws kNotFound for a module that the
// original does not have, kShape where the shapes differ, and what reading throws.
VerifyReport verify_checkpoint(Stream& stream, const Checkpoint& model, const Checkpoint* original,
                               const VerifyOptions& options);

}  // namespace tessera
