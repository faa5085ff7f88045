// What a tier gives to quantize.cc: loops over one row, on plain pointers.
//
// A tier is compiled for processors that the others need not have, so nothing that it compiles may be merged with the
// rest of the program: the linker keeps one copy of an inline function, and it may be this one. Therefore a tier sees
// tessera's headers under a namespace of its own (tier_avx512.cc), and what both sides share is here, outside of
// `tessera`, made of builtin types. Facts that are tessera's own cross as the bytes of a trivially copyable struct.
// Law: tests/laws/tier_symbols.cmake.
#pragma once
#include <cstdint>

#include "tessera/kernels/attention_block.h"
#include "tessera/kernels/row_step.h"

namespace tessera_lanes {

// Of a job; the same for all its rows.
struct EncodeFacts {
  const void* format;  // tessera::Format
  const void* encode;  // tessera::Encode
  const void* key;     // tessera::RandomKey
  int source;          // tessera::DType
  int sense;           // tessera::Sense of the result
  int writer;          // position in all_writers()
  float global, tensor_amax;
};

// Elements of one row, and how blocks lie on them.
struct Row {
  const void* x;
  std::int64_t count;
  std::int64_t block;  // columns of a block
  std::int64_t first;  // elements of the first block that the row has: block, or less where a piece starts within one
};

// Blocks of one row of blocks. Arrays have room for `count` rounded up to kPadding.
inline constexpr std::int64_t kPadding = 16;
struct Blocks {
  std::int64_t count;
  const float* maxima;  // that scales follow from
  const float* own;     // of the elements that are encoded
  void* scales;         // as stored: bytes or floats; exactly `count`
  float* operands;      // out
  float* reciprocals;   // out of prepare(): 1 / operand, or the operand where encode() multiplies
  std::uint8_t* care;   // out of prepare(), a byte a block: which loop gives its codes
};

struct Place {
  std::uint8_t* codes;
  std::uint64_t logical;  // index of the row's first element in the whole
  std::int64_t ahead;     // bytes from x to what will be read next: prefetched; 0: nothing
  bool streams;           // whole lines go past the caches
};

struct DecodeFacts {
  const void* format;
  int sense;
  int into;  // tessera::DType
  float global;
  bool reads_minus_zero;
  bool streams;
};
struct DecodeRow {
  const std::uint8_t* codes;
  const void* scales;  // of its first block
  std::int64_t count, block;
  void* out;
};

struct Kernels {
  // The largest bit pattern of |x| in f32.
  std::uint32_t (*amax)(int source, const void* x, std::int64_t count);
  // Raises the maxima of the row's blocks.
  void (*block_amax)(int source, const Row& row, float* maxima);
  // Scales and operands from maxima; with given scales only operands.
  void (*resolve)(const EncodeFacts&, Blocks&);
  void (*resolve_given)(const EncodeFacts&, Blocks&);
  // The same of a writer that searches; `row` starts on a block.
  void (*search)(const EncodeFacts&, const Row& row, Blocks&);
  void (*prepare)(const EncodeFacts&, Blocks&);
  void (*encode)(const EncodeFacts&, const Row& row, const Blocks&, const Place&);
  void (*decode)(const DecodeFacts&, const DecodeRow&);
  void (*fence)();  // after the last streamed line
  // One row of a row program.
  void (*run_row)(const RowStep* steps, std::int64_t count, const RowBuffer* buffers, std::int64_t row, float* frame);
  // With subnormals flushed; heads of at most 256.
  void (*attend)(const AttentionBlock& block);
};

extern const Kernels kAvx2;
extern const Kernels kAvx512;

}  // namespace tessera_lanes
