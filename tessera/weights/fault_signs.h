// Signs of damage that several exporters' files show, for weights/fingerprints/. Each says what is wrong, or nothing.
#pragma once
#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/weights/fix.h"

namespace tessera {

// A block scale of byte 0 over codes that are not all zero: "" where there is none.
std::string zero_scale_over_codes(const QuantizedTensor& rows);
// An f32 scale of 0 over codes that are NaN, which 0 / 0 leaves of a row or a weight of zeros.
std::string zero_scale_over_nan(const QuantizedTensor& rows);
// An f32 scale that no weight has: memory that was never written.
std::string uninitialized_scale(const QuantizedTensor& rows);
// Blocks of MXFP8 whose largest code is below 256, half of what E4M3 holds.
std::string halved_range(const QuantizedTensor& rows);

// Globals and activation scales that are infinite.
std::vector<Finding> infinite_globals(const Checkpoint& model);
// Globals that are 0.
std::vector<Finding> zero_globals(const Checkpoint& model);
// Scales of the KV cache that are all 1, where there are several.
std::vector<Finding> cache_scales_of_one(const Checkpoint& model);

}  // namespace tessera
