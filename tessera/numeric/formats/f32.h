// Dense f32: no scales.
#pragma once
#include "tessera/numeric/format.h"
namespace tessera::formats {
inline constexpr Format f32{.name = "f32", .element = kE8M23};
}
