// Some rows of a quantized weight: enough to tell who chose its bits, at a known price.
#pragma once
#include <cstdint>
#include <functional>

#include "tessera/io/checkpoint.h"

namespace tessera {

// Calls look(rows) with rows of the module as they stand, damaged scales included, from up to four places down the
// matrix. They are at most `most` bytes of codes and scales, or one row of blocks (in tiles: 128 rows) where that is
// more. A matrix that is stored transposed, whose rows stand all over its tensor, is looked at only where all of it is
// at most `most` bytes.
void sample_rows(const Checkpoint& model, const Module& module, std::uint64_t most,
                 const std::function<void(const QuantizedTensor& rows)>& look);

}  // namespace tessera
