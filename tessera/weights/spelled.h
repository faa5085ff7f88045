// Spelled: a quantized weight as the tensors of one dialect, ready to be written.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/io/sharded_writer.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

struct Spelled {
  std::string module;  // a bank's name where the dialect keeps all experts in one tensor
  const Spelling* spelling = nullptr;
  Format format{};
  Extent extent{};
  DType scale_dtype = DType::kF32;       // on disk
  DType activation_dtype = DType::kF32;  // on disk; of a module that has an activation scale
  bool has_activation = false;
  Grid codes{}, scales{};    // in their tensors; units as io/grid.h says
  std::int64_t experts = 0;  // in those tensors; 0: one matrix
  std::int64_t part = 0;     // of a bank: the first expert's first part plans the tensors of all

  std::string codes_name() const { return spelling->name_of(module, spelling->codes); }
  std::string scales_name() const { return spelling->name_of(module, spelling->scales); }
  std::string global_name() const { return spelling->name_of(module, spelling->global); }
  std::string activation_name() const { return spelling->name_of(module, spelling->activation); }
  std::string note_name() const { return spelling->name_of(module, spelling->notes); }
  bool plans_tensors() const { return experts == 0 || (codes.origin == 0 && part == 0); }
  // Rows that stripes of write_rows() begin at multiples of.
  std::int64_t row_granule() const;
};

// How `dialect` says this format, or nothing where it cannot. `wanted`: the dtype that f32 scales should have on disk,
// where the dialect lists it; F32 otherwise. `experts`: of the module's bank, where it is in one.
std::optional<Spelled> spell(const Dialect& dialect, const std::string& module, const Format& format, Extent extent,
                             DType wanted, std::int64_t experts = 0);

// How many experts the bank has that the module is in, or would be in if its experts stood in one tensor: as many as
// there are modules of its name but for the number, without a gap. 0: none.
std::int64_t experts_of(const Checkpoint& in, const Module& module);
// Bytes of one module on disk, without what is shared.
std::uint64_t stored_bytes(const Spelled& spelled);

// The first of these dtypes (names separated by a space) in which every one of `values` is exact; F32 where none is.
DType exact_dtype(std::string_view dtypes, std::span<const float> values);

// The tensors to plan for it.
std::vector<PlannedTensor> planned_tensors(const Spelled& spelled);

// Writes rows [begin, begin + q.extent.rows) of the codes and their scales. `begin` is a multiple of row_granule(). Of
// a format with one scale for all rows that is written with the first of them.
void write_rows(ShardedWriter& writer, const Spelled& spelled, const QuantizedTensor& q, std::int64_t begin);
// Writes the f32 numbers of the module.
void write_global(ShardedWriter& writer, const Spelled& spelled, float global);
void write_activation(ShardedWriter& writer, const Spelled& spelled, float scale);
// Writes the one scale of a weight that has no rows to write it with; nothing where there are rows, or no such scale.
void write_scale_of_no_rows(ShardedWriter& writer, const Spelled& spelled, float scale);

// "a format that the dialect can say, nearest to this one": for conversions that may requantize. Null: none.
const Format* nearest_format(const Dialect& dialect, const Format& format);

}  // namespace tessera
