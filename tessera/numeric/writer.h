// A Writer is how somebody chooses the bits of a quantized tensor: three pure functions and a few facts.
//
// Quantizing is observe -> resolve -> encode. Observe takes maxima of magnitudes (they reduce exactly in any order, so
// they are the only thing that crosses a cut). Resolve turns maxima into the global and the block scales: that is the
// writer's Rule. Encode divides each element by its block's decoding scale and rounds: that is a plain struct, the same
// code for all writers.
//
// One file a writer, numeric/writers/NAME.h, which defines a Rule and the object writers::NAME. A Rule is templated on
// the lane type (numeric/lanes.h) so that the reference, the CPU tiers and the GPU run the same lines. Rules never look
// at a format's name, only at its facts.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/numeric/dtype.h"
#include "tessera/numeric/format.h"
#include "tessera/numeric/lanes.h"

namespace tessera {

// What a stored global does to block scales to give values (law 3). The order decides the last bit.
enum class Sense : std::uint8_t {
  kMultiply,         // code * f32(scale * global)
  kDivide,           // code * f32(scale / global)
  kReciprocalFirst,  // f32(code * f32(1 / global)) * scale
  kMaximum,          // code * f32(f32(scale * global) * f32(1 / 2688)): the global is the tensor's maximum itself
};

enum class Ties : std::uint8_t {
  kEven,        // nearest, ties to even
  kTowardZero,  // nearest, ties to the smaller magnitude
  kHalfAdded,   // the floor of |q| + 1/2 in units of the code's spacing, in f32: as kEven, but that the number just
                // under half the smallest code is taken for its tie, and goes up
  kFirst,       // nearest by |code * scale - x| in f32, the first of ggml's table: what an argmin over the table finds
};
enum class SignOfZero : std::uint8_t {
  kKept,          // the sign bit of x, always
  kMinusZeroOff,  // -0 becomes +0; a negative number that rounds to zero keeps its sign
  kSetOnZero,     // the sign is set where x <= 0: every zero becomes minus zero
  kDropped,       // whatever rounds to zero is +0
};

// How elements become codes, given the operand of their block: all that a device needs of a writer.
struct Encode {
  bool multiply = false;        // q = x * operand (the encoding scale); otherwise q = x / operand (the decoding scale)
  bool round_quotient = false;  // q is rounded to the dtype of x before it is cast
  bool stochastic = false;      // round by a random word keyed by the logical element; ties do not matter then
  Ties ties = Ties::kEven;
  SignOfZero sign = SignOfZero::kMinusZeroOff;
  std::uint8_t nan_code = 0;      // of an element without NaN: the code for a quotient that is NaN
  bool infinite_is_zero = false;  // where the operand is infinite, which a block without a scale has, every code is 0
  constexpr bool operator==(const Encode&) const = default;
};

// What a rule knows when it chooses a block's scale. `amax` may be infinite or NaN.
template <class F>
struct ScaleInput {
  F amax;                 // of the block
  float global = 1;       // stored, as the rule's global() gave it
  float tensor_amax = 0;  // of the whole tensor (or of the group that shares its global)
  DType source = DType::kF32;
};

template <class F>
struct ScaleChoice {
  Word<F> bits;  // as stored: a byte of a small element, or the bits of an f32
  F operand;     // what the elements are divided by (or multiplied with): see Encode
};

// The scale that a reader of `sense` multiplies codes by, in its own order of operations. For kReciprocalFirst, whose
// product is not one factor, the nearest: scale * (1 / global).
template <class F>
constexpr F decoding_scale(Sense sense, F scale, float global) {
  if (sense == Sense::kDivide) return scale / all<F>(global);
  if (sense == Sense::kReciprocalFirst) return scale * all<F>(1.f / global);
  if (sense == Sense::kMaximum) return scale * all<F>(global) * all<F>(1.f / 2688.f);
  return scale * all<F>(global);
}
// The operand of elements whose block's scale is given, with the global and what that does. Under a scale of zero every
// code reads as zero, and becomes zero.
template <class F>
constexpr F given_operand(const Format& format, const Encode& how, Sense sense, F scale, float global) {
  const F decoding = format.has_global ? decoding_scale(sense, scale, global) : scale;
  if (how.ties == Ties::kFirst) return decoding;
  const auto zero = decoding == all<F>(0.f);
  if (how.multiply) return zero ? all<F>(0.f) : all<F>(1.f) / decoding;
  return zero ? all<F>(kInfinity) : decoding;
}
template <class F>
constexpr F decode_scale_bits(const Format& format, Word<F> bits) {
  if (format.scale == kE8M23) return float_of<F>(bits);
  if (format.scale == kE8M0) return decode_e8m0<F>(bits);
  return decode_magnitude<F>(format.scale, bits);
}

// A rule that searches gives several candidates for a block; the first with the least sum of |decoded - x| wins.
// Such a rule defines `kCandidates`, `scale<F>(format, input, candidate)` and `restored(code value, scale,
// tensor_amax)`.
template <class Rule>
constexpr int candidates_of() {
  if constexpr (requires { Rule::kCandidates; })
    return Rule::kCandidates;
  else
    return 1;
}

struct ResolveArgs {
  const Format& format;
  float global, tensor_amax;
  DType source;
};

struct Writer {
  std::string_view name;
  std::string_view description;
  bool (*supports)(const Format&);
  Sense sense = Sense::kMultiply;
  bool max_rule = true;  // scales are functions of maxima alone: only then may pieces quantize on their own (law 4)
  bool scales_in_source = false;   // f32 block scales are rounded to the dtype of the weights, and stored in it
  bool whole_blocks_only = false;  // refuses a matrix with a partial block at an edge, as its exporter leaves it alone
  bool (*refuses_non_finite)(const Format&) = [](const Format&) { return false; };  // as its exporter does

  // Filled in by WriterOf from the rule.
  float (*global)(const Format&, float tensor_amax, DType source) = nullptr;
  ScaleChoice<float> (*scale)(const Format&, const ScaleInput<float>&, int candidate) = nullptr;
  Encode (*encode)(const Format&, DType source) = nullptr;
  float (*restored)(float code_value, float scale, float tensor_amax) = nullptr;  // only of a rule that searches
  int candidates = 1;
};

template <class R>
struct WriterOf : Writer {
  using Rule = R;
  constexpr explicit WriterOf(Writer facts) : Writer(facts) {
    global = &R::global;
    encode = &R::encode;
    candidates = candidates_of<R>();
    if constexpr (candidates_of<R>() > 1) {
      scale = [](const Format& f, const ScaleInput<float>& in, int candidate) {
        return R::template scale<float>(f, in, candidate);
      };
      restored = &R::template restored<float>;
    } else {
      scale = [](const Format& f, const ScaleInput<float>& in, int) { return R::template scale<float>(f, in); };
    }
  }
};

std::span<const Writer* const> all_writers();      // one per file of numeric/writers/
const Writer& find_writer(std::string_view name);  // throws kNotFound, listing the names

}  // namespace tessera
