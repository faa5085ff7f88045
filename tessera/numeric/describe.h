// Words and figures about formats, for people and JSON.
#pragma once
#include <string>
#include <string_view>

#include "tessera/numeric/format.h"
#include "tessera/numeric/writer.h"

namespace tessera {

std::string element_name(const Element& element);  // "E2M1", "f32"; "" of none

// Of a large matrix: codes and block scales. Scales of whole rows or tensors do not count.
double bits_per_element(const Format& format);

std::string_view sense_name(Sense sense);  // "multiply", "divide", "reciprocal_first", "maximum"

}  // namespace tessera
