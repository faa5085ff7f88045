// What the .cc files tell the kernels: plain numbers and device addresses. No kernel checks anything, and no launch
// waits; the caller looks at cudaGetLastError(). Law 11: every kernel gives the reference's bytes.
#pragma once
#include <cstdint>

#include "tessera/numeric/format.h"
#include "tessera/numeric/philox.h"
#include "tessera/numeric/writer.h"

namespace tessera::cuda {

using NativeStream = void*;        // cudaStream_t
using Index = unsigned long long;  // of a block, for atomicMin; kNone: no block
inline constexpr Index kNone = ~Index{0};

struct Source {  // row-major, F32, BF16 or F16
  const void* data;
  DType type;
};

// A piece of a matrix and the grid of blocks that it touches: BlockGrid in plain numbers.
struct Piece {
  Extent extent;
  Block block;
  std::int64_t row, col;              // in the whole
  std::int64_t first_row, first_col;  // the first block touched
  Extent blocks;
  std::int64_t whole_cols;
};

// Maxima are bit patterns of magnitudes; what is written must be 0 before.
void launch_amax(const Source& x, std::int64_t count, std::uint32_t* largest, NativeStream stream);
void launch_block_amax(const Source& x, const Piece& piece, std::uint32_t* maxima, NativeStream stream);

struct Resolve {
  Source x;  // read only by writers that search
  Piece piece;
  Format format;
  Encode encode;
  float global, tensor_amax;
  const std::uint32_t* maxima;
  void* scales;     // out: bytes, or f32
  float* operands;  // out
  Index* not_finite;
};
using ResolveLaunch = void (*)(const Resolve&, NativeStream);
ResolveLaunch find_resolve(const Writer& writer);  // null: not a writer of the registry

// Operands of scales that are given.
struct GivenScales {
  Format format;
  Sense sense;
  Encode how;
  float global;
  const void* scales;
  std::int64_t count;
  float* operands;
};
void launch_given_operands(const GivenScales& given, NativeStream stream);

struct EncodeArgs {
  Source x;
  Piece piece;
  Element element;
  Encode how;
  RandomKey key;
  const float* operands;
  std::uint8_t* codes;
  std::int64_t row_bytes;
};
void launch_encode(const EncodeArgs& args, NativeStream stream);

struct DequantizeArgs {
  Format format;
  Extent extent;
  Block block;  // of the format in this extent
  std::int64_t scale_cols, row_bytes;
  Sense sense;
  bool reads_minus_zero;
  const std::uint8_t* codes;
  const void* scales;
  const float* globals;              // device; one a segment
  const std::int64_t* segment_ends;  // device
  std::int64_t segments;
  void* into;
  DType type;
};
void launch_dequantize(const DequantizeArgs& args, NativeStream stream);

// The fast ones: bf16, whole blocks of one row, everything contiguous from addresses that are multiples of 16.
struct QuantizeBlocks {
  const void* x;
  void* codes;
  void* scales;
  std::int64_t chunks;  // of 16 elements
  float global, tensor_amax;
  Index* not_finite;
};
using QuantizeBlocksLaunch = void (*)(const QuantizeBlocks&, NativeStream);
QuantizeBlocksLaunch find_quantize_blocks(const Writer& writer, const Format& format);       // null: there is none
QuantizeBlocksLaunch find_sm100_quantize_nvfp4(const Writer& writer, const Format& format);  // the same on sm_100

struct DequantizeBlocks {
  const void* codes;
  const void* scales;
  const float* global;  // device; one
  void* into;           // bf16
  std::int64_t chunks;  // of 8 elements
  Sense sense;
  bool reads_minus_zero;
};
using DequantizeBlocksLaunch = void (*)(const DequantizeBlocks&, NativeStream);
DequantizeBlocksLaunch find_dequantize_blocks(const Format& format);  // null: there is none

}  // namespace tessera::cuda
