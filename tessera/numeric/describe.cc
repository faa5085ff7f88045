#include "tessera/numeric/describe.h"

#include <fmt/format.h>

namespace tessera {

std::string element_name(const Element& element) {
  if (element == kE8M23) return "f32";
  if (element == kNoElement) return "";
  // E8M0 has no sign either, and no mantissa that could make one expected.
  const bool unsigned_number = !element.is_signed && element.mantissa_bits > 0;
  return fmt::format("{}E{}M{}", unsigned_number ? "U" : "", element.exponent_bits, element.mantissa_bits);
}

double bits_per_element(const Format& format) {
  const double shared = static_cast<double>(format.block.rows * format.block.cols);  // 0: a whole row or tensor
  return format.element.bits() + (format.is_scaled() && shared > 0 ? format.scale.bits() / shared : 0);
}

std::string_view sense_name(Sense sense) {
  switch (sense) {
    case Sense::kMultiply:
      return "multiply";
    case Sense::kDivide:
      return "divide";
    case Sense::kReciprocalFirst:
      return "reciprocal_first";
    case Sense::kMaximum:
      return "maximum";
  }
  return "";
}

}  // namespace tessera
