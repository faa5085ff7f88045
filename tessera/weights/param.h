// Param: one weight of a model in memory, as kernels read it. A matrix is packed (kernels/packed_matrix.h), in the
// format in which its checkpoint holds it; a vector is f32, which widens every dense type exactly.
#pragma once
#include <cstdint>
#include <string>

#include "tessera/kernels/packed_matrix.h"

namespace tessera {

struct Param {
  std::string name{};         // as the model's own checkpoint names it: "model.norm.weight"
  Shape shape{};              // [out, in], or [n]
  std::uint64_t version = 0;  // grows with every change of the values; what is derived from them is keyed by it
  PackedMatrix matrix{};      // where shape has two axes
  Tensor vector{};            // F32 [n], where it has one

  bool is_matrix() const { return shape.size() == 2; }
  std::size_t bytes() const { return is_matrix() ? matrix.bytes() : vector.bytes(); }
};

}  // namespace tessera
