// Spelled: a quantized weight as the tensors of one dialect, ready to be written.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tessera/io/dialect.h"
#include "tessera/io/sharded_writer.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

struct Spelled {
  std::string module;
  const Spelling* spelling = nullptr;
  Format format{};
  Extent extent{};
  DType scale_dtype = DType::kF32;       // on disk
  DType activation_dtype = DType::kF32;  // on disk; of a module that has an activation scale
  bool has_activation = false;

  std::string codes_name() const { return module + "." + std::string(spelling->codes); }
  std::string scales_name() const { return module + "." + std::string(spelling->scales); }
  std::string global_name() const { return module + "." + std::string(spelling->global); }
  std::string activation_name() const { return module + "." + std::string(spelling->activation); }
};

// How `dialect` says this format, or nothing where it cannot. `wanted`: the dtype that f32 scales should have on disk,
// where the dialect lists it; F32 otherwise.
std::optional<Spelled> spell(const Dialect& dialect, std::string module, const Format& format, Extent extent,
                             DType wanted);

// The first of these dtypes (names separated by a space) in which every one of `values` is exact; F32 where none is.
DType exact_dtype(std::string_view dtypes, std::span<const float> values);

// The tensors to plan for it.
std::vector<PlannedTensor> planned_tensors(const Spelled& spelled);

// Writes rows [begin, begin + q.extent.rows) of the codes and their scales. `begin` is a multiple of the format's block
// rows.
void write_rows(ShardedWriter& writer, const Spelled& spelled, const QuantizedTensor& q, std::int64_t begin);
// Writes the f32 numbers of the module.
void write_global(ShardedWriter& writer, const Spelled& spelled, float global);
void write_activation(ShardedWriter& writer, const Spelled& spelled, float scale);

// "a format that the dialect can say, nearest to this one": for conversions that may requantize. Null: none.
const Format* nearest_format(const Dialect& dialect, const Format& format);

}  // namespace tessera
