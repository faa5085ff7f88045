#include "tessera/kernels/reference/quantize.h"

#include <vector>

#include "tessera/base/error.h"

namespace tessera::reference {
namespace {

std::uint32_t order_of(float x) { return std::bit_cast<std::uint32_t>(magnitude(x)); }

std::uint32_t stored_code(const QuantizedTensor& q, std::int64_t r, std::int64_t c) {
  const std::uint8_t* row = q.codes.as<std::uint8_t>() + r * row_bytes(q.format, q.extent.cols);
  return load_code(row, q.format.element.bits(), c);
}

void store_code(QuantizedTensor& q, std::int64_t r, std::int64_t c, std::uint32_t code) {
  std::uint8_t* row = q.codes.as<std::uint8_t>() + r * row_bytes(q.format, q.extent.cols);
  append_code(row, q.format.element.bits(), c, code);
}

std::uint32_t scale_bits(const QuantizedTensor& q, std::int64_t index) {
  return q.format.scale == kE8M23 ? std::bit_cast<std::uint32_t>(q.scales.as<float>()[index])
                                  : q.scales.as<std::uint8_t>()[index];
}
void store_scale(QuantizedTensor& q, std::int64_t index, std::uint32_t bits) {
  if (q.format.scale == kE8M23)
    q.scales.as<float>()[index] = std::bit_cast<float>(bits);
  else
    q.scales.as<std::uint8_t>()[index] = static_cast<std::uint8_t>(bits);
}
// E4M3 scales are magnitudes: a sign bit (only -0 passes a reader) is not looked at.
float scale_value(const QuantizedTensor& q, std::int64_t index) {
  return decode_scale_bits<float>(q.format, scale_bits(q, index));
}

float global_of_row(const QuantizedTensor& q, std::int64_t r) {
  if (!q.format.has_global) return 1;
  std::size_t segment = 0;
  while (segment < q.segment_ends.size() && q.segment_ends[segment] <= r) ++segment;
  return q.global.as<float>()[segment];
}

// ggml's search: the first of its table's 16 values (0 .. 6, then -0 .. -6) whose error is least.
std::uint32_t first_nearest(float x, float scale) {
  std::uint32_t best = 0;
  float least = magnitude(0.f * scale - x);
  for (std::uint32_t code = 1; code < 16; ++code) {
    const float error = magnitude(decode(kE2M1, code) * scale - x);
    if (error < least) {
      least = error;
      best = code;
    }
  }
  return best;
}

// Sum of |restored - x| of one block, in index order, and the codes of that choice.
float candidate_error(const QuantizeJob& job, std::int64_t block_r, std::int64_t block_c,
                      const ScaleChoice<float>& choice) {
  const Format& format = job.out.format;
  const float scale = decode_scale_bits<float>(format, choice.bits);
  float error = 0;
  for (std::int64_t r = 0; r < job.extent.rows; ++r) {
    if (job.grid.block_row(r) != block_r) continue;
    for (std::int64_t c = 0; c < job.extent.cols; ++c) {
      if (job.grid.block_col(c) != block_c) continue;
      const float x = element_as_float(job.x, r * job.extent.cols + c);
      const std::uint32_t code = code_of(format.element, job.encode, job.x.dtype(), x, choice.operand, 0);
      error += magnitude(job.writer.restored(decode(format.element, code), scale, job.tensor_amax) - x);
    }
  }
  return error;
}

ScaleChoice<float> choose_scale(const QuantizeJob& job, std::int64_t block_r, std::int64_t block_c, float amax) {
  const ScaleInput<float> input{amax, job.global, job.tensor_amax, job.x.dtype()};
  ScaleChoice<float> best = job.writer.scale(job.out.format, input, 0);
  if (job.writer.candidates == 1) return best;
  float least = candidate_error(job, block_r, block_c, best);
  for (int candidate = 1; candidate < job.writer.candidates; ++candidate) {
    const ScaleChoice<float> next = job.writer.scale(job.out.format, input, candidate);
    const float error = candidate_error(job, block_r, block_c, next);
    if (error < least) {
      least = error;
      best = next;
    }
  }
  return best;
}

// The operand that goes with scales that are given.
float operand_of(const QuantizeJob& job, float scale, float global) {
  return given_operand(job.out.format, job.encode, job.out.sense, scale, global);
}

}  // namespace

std::uint32_t code_of(Element element, const Encode& how, DType source, float x, float operand, std::uint32_t random) {
  if (how.ties == Ties::kFirst) return first_nearest(x, operand);
  if (how.infinite_is_zero && operand == kInfinity) return 0;
  float q = how.multiply ? x * operand : x / operand;
  if (how.round_quotient) q = round_to(source, q);
  std::uint32_t code;
  if (is_nan(q)) {
    code = element.specials == Specials::kNone ? how.nan_code : nan_code(element);
    return code;
  }
  if (how.stochastic)
    code = encode_magnitude_stochastic<float>(element, magnitude(q), random);
  else
    code = encode(element, magnitude(q));
  if (how.ties == Ties::kTowardZero && code > 0) {
    const float middle = (decode(element, code - 1) + decode(element, code)) / 2;  // exact: neighbours, few bits
    if (magnitude(q) == middle) code -= 1;
  }
  if (how.ties == Ties::kHalfAdded && code == 0) {
    const float half = decode(element, 1) / 2, a = magnitude(q);
    if (a < half && a + half == 2 * half) code = 1;
  }
  const bool minus = std::bit_cast<std::uint32_t>(q) >> 31 != 0;
  bool sign = minus;
  if (how.sign == SignOfZero::kMinusZeroOff) sign = q < 0;
  if (how.sign == SignOfZero::kSetOnZero) sign = q <= 0;
  if (how.sign == SignOfZero::kDropped) sign = minus && code != 0;
  return sign ? code | element.sign_bit() : code;
}

float value_of(const QuantizedTensor& q, std::uint32_t code, float scale, float global) {
  float value = decode(q.format.element, code);
  if (!q.reads_minus_zero) value = value + 0.f;  // -0 + 0 is +0; nothing else changes
  if (!q.format.has_global) return value * scale;
  if (q.sense == Sense::kReciprocalFirst) return value * (1.f / global) * scale;
  return value * decoding_scale(q.sense, scale, global);
}

float amax(Stream&, const Tensor& x) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) largest = std::max(largest, order_of(element_as_float(x, i)));
  return std::bit_cast<float>(largest);
}

void block_amax(Stream&, const Tensor& x, const BlockGrid& grid, std::span<float> maxima) {
  const Extent extent = x.extent();
  for (float& m : maxima) m = 0;
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    for (std::int64_t c = 0; c < extent.cols; ++c) {
      float& m = maxima[static_cast<std::size_t>(grid.block_row(r) * grid.blocks.cols + grid.block_col(c))];
      const float a = magnitude(element_as_float(x, r * extent.cols + c));
      if (order_of(a) > order_of(m)) m = a;
    }
  }
}

std::int64_t quantize(Stream& stream, const QuantizeJob& job) {
  QuantizedTensor& out = job.out;
  const auto blocks = static_cast<std::size_t>(job.grid.blocks.count());
  std::vector<float> maxima(job.agreed.begin(), job.agreed.end());
  std::vector<float> operands(blocks);
  std::int64_t not_finite = -1;
  if (maxima.empty() && !job.scales_given) {
    maxima.resize(blocks);
    block_amax(stream, job.x, job.grid, maxima);
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto index = static_cast<std::int64_t>(b);
    if (job.scales_given) {
      operands[b] = operand_of(job, scale_value(out, index), job.global);
      continue;
    }
    if (!is_finite(maxima[b]) && not_finite < 0) not_finite = index;
    const ScaleChoice<float> choice =
        choose_scale(job, index / job.grid.blocks.cols, index % job.grid.blocks.cols, maxima[b]);
    store_scale(out, index, choice.bits);
    operands[b] = choice.operand;
  }
  for (std::int64_t r = 0; r < job.extent.rows; ++r) {
    for (std::int64_t c = 0; c < job.extent.cols; ++c) {
      const float operand =
          operands[static_cast<std::size_t>(job.grid.block_row(r) * job.grid.blocks.cols + job.grid.block_col(c))];
      const auto logical = static_cast<std::uint64_t>((job.grid.row + r) * job.whole.cols + job.grid.col + c);
      const std::uint32_t random = job.encode.stochastic ? random_word(job.key, logical) : 0;
      const float x = element_as_float(job.x, r * job.extent.cols + c);
      store_code(out, r, c, code_of(out.format.element, job.encode, job.x.dtype(), x, operand, random));
    }
  }
  return not_finite;
}

void dequantize(Stream&, const QuantizedTensor& q, Tensor& into) {
  const Block block = block_in(q.format, q.extent);
  const std::int64_t scale_cols = scale_extent(q.format, q.extent).cols;
  for (std::int64_t r = 0; r < q.extent.rows; ++r) {
    const float global = global_of_row(q, r);
    for (std::int64_t c = 0; c < q.extent.cols; ++c) {
      const float scale = scale_value(q, r / block.rows * scale_cols + c / block.cols);
      const float value = round_to(into.dtype(), value_of(q, stored_code(q, r, c), scale, global));
      const std::int64_t i = r * q.extent.cols + c;
      if (into.dtype() == DType::kF32)
        into.as<float>()[i] = value;
      else
        into.as<std::uint16_t>()[i] = bits16(into.dtype(), value);
    }
  }
}

}  // namespace tessera::reference
