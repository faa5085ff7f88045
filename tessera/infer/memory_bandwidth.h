// The rate at which the stream's threads read memory, bytes a second: the bound of a model's decoding. Measured now, on
// `bytes` that are read `rounds` times; the fastest counts.
#pragma once
#include <cstddef>

#include "tessera/tensor/device.h"

namespace tessera {

double measure_read_bandwidth(Stream& stream, std::size_t bytes, int rounds);

}  // namespace tessera
