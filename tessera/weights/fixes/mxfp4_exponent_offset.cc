#include "tessera/weights/fixes/mxfp4_exponent_offset.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "tessera/base/error.h"
#include "tessera/io/module_names.h"
#include "tessera/kernels/quantize.h"
#include "tessera/weights/sample.h"

namespace tessera::fixes {
namespace {

constexpr int kLost = 2;                    // of every exponent
constexpr std::uint64_t kSample = 1 << 16;  // bytes of a module that its size is taken from
// A shifted weight is 1/4 of what it was. Linear layers of one kind differ by less than 1.6 between layers of a model;
// between the two ranges nothing is decided.
constexpr double kShiftedLeast = 0.15, kShiftedMost = 0.4, kRightLeast = 0.6;

// 1 where the declaration names a release with the fault, -1 where it names one without, 0 where it names none.
int names_faulty_release(const Declaration* declared) {
  if (declared == nullptr || declared->version.empty()) return 0;
  const std::string& v = declared->version;
  int major = 0, minor = 0;
  const char* end = v.data() + v.size();
  const auto first = std::from_chars(v.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return 0;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return 0;
  return major == 0 && minor < 14 ? 1 : -1;
}

bool is_mxfp4(const Module& m) {
  return m.is_quantized() && m.reading.complaints.empty() && m.reading.format.element == kE2M1 &&
         m.reading.format.scale == kE8M0 && m.scales != nullptr &&
         m.reading.spelling->name_of("", m.reading.spelling->codes).ends_with("weight_packed");
}

constexpr double kNoWeight = 0x1p64;  // exponents 0 and 1 that lost 2 are 254 and the NaN

// The root mean square of the weight times the root of its inputs: what an initialisation makes alike for all layers.
double size_of(const Checkpoint& model, const Module& m, std::uint64_t most) {
  double squares = 0, count = 0;
  const auto add = [&](const Tensor& x) {
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const double v = static_cast<double>(element_as_float(x, i));
      if (!(std::fabs(v) < kNoWeight)) continue;
      squares += v * v;
      ++count;
    }
  };
  if (m.is_quantized()) {
    Stream stream(kCpu, 1);
    sample_rows(model, m, most, [&](const QuantizedTensor& rows) { add(dequantize(stream, rows)); });
  } else {
    const std::int64_t row = std::max<std::int64_t>(1, m.reading.extent.cols * 4);
    add(model.load_dense_rows(m, 0,
                              std::clamp<std::int64_t>(static_cast<std::int64_t>(most) / row, 1,
                                                       std::max<std::int64_t>(1, m.reading.extent.rows))));
  }
  return count > 0 ? std::sqrt(squares / count * static_cast<double>(m.reading.extent.cols)) : 0;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How large the weights are beside unquantized ones of the same kind ("q_proj"), else beside all unquantized linear
// layers; nothing where there are none.
std::optional<double> ratio_to_siblings(const Checkpoint& model, std::span<const Module* const> weights,
                                        std::uint64_t most) {
  const auto kind = [](const Module& m) { return m.name.substr(m.name.rfind('.') + 1); };
  std::map<std::string, std::vector<double>> dense;
  std::vector<double> all, ratios, others;
  for (const Module& m : model.modules()) {
    if (m.is_quantized() || !m.is_matrix() || module_kind(m.name) != ModuleKind::kLinear) continue;
    if (m.reading.extent.count() == 0) continue;
    const double size = size_of(model, m, most);
    if (!(size > 0)) continue;
    dense[kind(m)].push_back(size);
    all.push_back(size);
  }
  if (all.empty()) return {};
  for (const Module* m : weights) {
    const double size = size_of(model, *m, most);
    if (!(size > 0)) continue;
    const auto it = dense.find(kind(*m));
    if (it != dense.end())
      ratios.push_back(size / median(it->second));
    else
      others.push_back(size / median(all));
  }
  if (ratios.empty()) ratios = others;
  if (ratios.empty()) return {};
  return median(ratios);
}

std::array<std::uint8_t, 256> shifted_back() {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i + kLost);
  return table;
}

// A byte that no exponent became by losing 2: one that was held at 0, or would become the NaN.
std::string impossible_byte(const Checkpoint& model, const Module& m) {
  const QuantizedTensor q = model.load_rows_unchecked(m, 0, m.reading.extent.rows);
  const std::int64_t half = m.reading.format.block.cols / 2;
  for (std::int64_t i = 0; i < q.scales.count(); ++i) {
    const std::uint8_t byte = q.scales.as<std::uint8_t>()[i];
    if (byte == 255 - kLost)
      return fmt::format("{} holds the byte {}, which would become the NaN", m.scales->name, byte);
    if (byte != 0) continue;
    const std::int64_t cols = scale_extent(q.format, q.extent).cols, row = row_bytes(q.format, q.extent.cols);
    const std::uint8_t* codes = q.codes.as<std::uint8_t>() + i / cols * row + i % cols * half;
    const auto count = std::min(half, row - i % cols * half);
    if (std::any_of(codes, codes + count, [](std::uint8_t b) { return (b & 0x77) != 0; }))
      return fmt::format("{} holds the byte 0 over codes that are not zero: it may have been 0, 1 or 2",
                         m.scales->name);
  }
  return {};
}

}  // namespace

Repair plan_mxfp4_exponent_offset(const Checkpoint& model, std::uint64_t most) {
  Repair repair;
  const int release = names_faulty_release(model.declared());
  if (release < 0 || most == 0) return repair;
  std::vector<const Module*> weights;
  for (const Module& m : model.modules())
    if (is_mxfp4(m)) weights.push_back(&m);
  if (weights.empty()) return repair;
  const std::optional<double> ratio = ratio_to_siblings(model, weights, std::min(most, kSample));
  if (ratio && (*ratio >= kRightLeast || (release == 0 && *ratio > kShiftedMost))) return repair;
  if (!ratio && release == 0) return repair;
  const std::string version = release > 0 ? model.declared()->version : "";
  for (const Module* m : weights)
    repair.findings.push_back(
        {m->scales->name,
         fmt::format("{}: exponents{}{}", m->scales->name, release > 0 ? " of compressed-tensors " + version : "",
                     ratio ? fmt::format(", of weights that are {:.2f} of their unquantized kin", *ratio)
                           : " may be 2 too small")});
  if (!ratio)
    repair.doubt = fmt::format(
        "compressed-tensors {} is of the releases with the fault, but builds of it without are "
        "about, and the model has no unquantized linear layer to compare with",
        version);
  else if (*ratio < kShiftedLeast || *ratio > kShiftedMost)
    repair.doubt = fmt::format("the weights are {:.2f} of their unquantized kin; a quarter would be the fault", *ratio);
  for (const Module* m : weights) {
    if (!repair.doubt.empty()) break;
    if (most == kEveryByte) repair.doubt = impossible_byte(model, *m);
    repair.amendment.tensors.emplace(m->scales->name, amend_bytes(*m->scales, shifted_back()));
  }
  if (!repair.doubt.empty()) repair.amendment = {};
  return repair;
}

}  // namespace tessera::fixes
