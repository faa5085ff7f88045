// Dense f16: no scales.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format f16{.name = "f16", .element = kE5M10};
}
