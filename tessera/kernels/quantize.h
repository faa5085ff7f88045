// Quantizing: observe (maxima) -> resolve (scales) -> encode (codes); and back.
// Formats and writers: numeric/. Which implementation runs: quantize.cc, an ordered list; all of them give the same
// bits.
#pragma once
#include <span>
#include <string_view>

#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

// The largest magnitude of x (by the order of bit patterns: infinity above all numbers, a NaN above infinity), and with
// `format` whose blocks the piece touches, theirs. x: [rows, cols] F32, BF16 or F16, any device. 0 of an empty tensor.
Maxima observe(Stream& stream, const Tensor& x);
Maxima observe(Stream& stream, const Tensor& x, const Format& format, const QuantizeContext& where = {});
// The maximum over two pieces: exact in any order.
float larger_maximum(float a, float b);
Maxima larger_maxima(const Maxima& a, const Maxima& b);  // throws kShape where their blocks differ in number

// Quantizes x along its last axis. x: [rows, cols] F32, BF16 or F16, any device; result on the same device.
// `where`: the piece's place in the whole and the maxima agreed with the other pieces; default: x is the whole.
// Throws kUnsupported when the writer does not know the format, or needs more than maxima and the cut straddles its
// blocks; kShape unless the piece is cut in granules (or comes with the maxima of its blocks, at even columns);
// kInvalid for values that are not finite where the writer's exporter refuses them. Law: quantize(piece, spec, where)
// == piece of quantize(whole, spec), bitwise (laws, 4). Source: OCP MX v1.0 section 6.3; NVIDIA TE user guide, "NVFP4";
// docs/formats/ for each writer.
QuantizedTensor quantize(Stream& stream, const Tensor& x, const OperandSpec& spec, const QuantizeContext& where = {});

// Codes of x under the scales and the global of `like`, which has x's extent. Law (5): encode_like(dequantize(q), q) ==
// q.
QuantizedTensor encode_like(Stream& stream, const Tensor& x, const OperandSpec& spec, const QuantizedTensor& like,
                            const QuantizeContext& where = {});

// The values of q, [rows, cols] as F32, BF16 or F16, computed in f32 in the order of its Sense and rounded once (law
// 3).
Tensor dequantize(Stream& stream, const QuantizedTensor& q, DType to = DType::kF32);
// The same into memory that the caller owns: `into` has q's extent.
void dequantize_into(Stream& stream, const QuantizedTensor& q, Tensor& into);

// What `tessera doctor` prints and the law tests sweep: the name of an implementation and whether it runs on the
// stream.
struct QuantizeImpl;
std::span<const QuantizeImpl> quantize_impls();

}  // namespace tessera
