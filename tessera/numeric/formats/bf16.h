// Dense bf16: no scales.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format bf16{.name = "bf16", .element = kE8M7};
}
