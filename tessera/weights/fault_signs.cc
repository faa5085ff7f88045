#include "tessera/weights/fault_signs.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
namespace {

// Calls fn(scale index, block's codes as bytes, of whole bytes) for each block of formats with a byte for each scale.
template <class Fn>
void for_blocks(const QuantizedTensor& q, const Fn& fn) {
  if (q.scales.dtype() != DType::kU8 || q.format.block.rows != 1 || q.format.block.cols == 0) return;
  const std::int64_t width = row_bytes(q.format, q.extent.cols),
                     each = q.format.block.cols * q.format.element.bits() / 8,
                     cols = scale_extent(q.format, q.extent).cols;
  for (std::int64_t i = 0; i < q.scales.count(); ++i) {
    const std::int64_t begin = i % cols * each;
    fn(i, std::span(q.codes.as<std::uint8_t>() + i / cols * width + begin,
                    static_cast<std::size_t>(std::min(each, width - begin))));
  }
}

bool all_zero(const Element& element, std::span<const std::uint8_t> codes) {
  const std::int64_t count = static_cast<std::int64_t>(codes.size()) * 8 / element.bits();
  for (std::int64_t i = 0; i < count; ++i)
    if ((load_code(codes.data(), element.bits(), i) & ~element.sign_bit()) != 0) return false;
  return true;
}

// The first f32 scale of which `is_wrong(scale, row, first element, end)` says why; "" where it never does.
template <class Fn>
std::string first_scale(const QuantizedTensor& q, const Fn& is_wrong) {
  if (q.scales.dtype() != DType::kF32) return {};
  for (std::int64_t i = 0; i < q.scales.count(); ++i)
    if (std::string text = is_wrong(i, q.scales.as<float>()[i]); !text.empty()) return text;
  return {};
}

std::vector<Finding> globals_that(const Checkpoint& model, bool (*wrong)(float), std::string_view what) {
  std::vector<Finding> found;
  for (const Module& m : model.modules())
    if (m.global_tensor != nullptr && m.reading.complaints.empty() && wrong(m.global_in_file))
      found.push_back(
          {m.global_tensor->name, fmt::format("{} is {}: {}", m.global_tensor->name, m.global_in_file, what)});
  return found;
}

std::optional<float> one_number(const Checkpoint& model, const StoredTensor& t) {
  if (t.elements() != 1 || (t.dtype != DType::kF32 && t.dtype != DType::kBf16 && t.dtype != DType::kF16)) return {};
  return element_as_float(model.load_tensor(t), 0);
}

}  // namespace

std::string zero_scale_over_codes(const QuantizedTensor& q) {
  std::size_t count = 0;
  for_blocks(q, [&](std::int64_t i, std::span<const std::uint8_t> codes) {
    count += q.scales.as<std::uint8_t>()[i] == 0 && !all_zero(q.format.element, codes);
  });
  return count == 0 ? "" : fmt::format("{} blocks have the scale byte 0 over codes that are not zero", count);
}

std::string zero_scale_over_nan(const QuantizedTensor& q) {
  const std::int64_t bytes = static_cast<std::int64_t>(q.codes.bytes()), scales = q.scales.count();
  if (q.format.element.bits() != 8 || scales == 0 || bytes == 0 || bytes % scales != 0) return {};
  if (q.format.block.rows > 1) return {};
  return first_scale(q, [&](std::int64_t i, float scale) -> std::string {
    const std::uint8_t* codes = q.codes.as<std::uint8_t>() + i * (bytes / scales);
    if (scale != 0 || (codes[0] & 0x7f) != 0x7f) return {};
    return "a scale is 0 and the codes under it are NaN: the weights were zeros";
  });
}

std::string uninitialized_scale(const QuantizedTensor& q) {
  return first_scale(q, [&](std::int64_t i, float scale) -> std::string {
    const bool subnormal = scale != 0 && std::fabs(scale) < 0x1p-126f;
    if (is_finite(scale) && std::fabs(scale) < 0x1p20f && !subnormal) return {};
    return fmt::format("scale {} is {}, which no weight has: codes were cast without it", i, scale);
  });
}

std::string halved_range(const QuantizedTensor& q) {
  constexpr std::uint8_t k256 = 0x78;  // in E4M3
  if (q.format.element != kE4M3 || q.format.scale != kE8M0) return {};
  std::size_t halved = 0, all = 0;
  for_blocks(q, [&](std::int64_t i, std::span<const std::uint8_t> codes) {
    const std::uint8_t scale = q.scales.as<std::uint8_t>()[i];
    std::uint8_t largest = 0;
    for (const std::uint8_t b : codes) largest = std::max(largest, static_cast<std::uint8_t>(b & 0x7f));
    if (scale <= 1 || scale >= 253 || largest == 0) return;
    ++all;
    halved += largest < k256;
  });
  return halved == 0 ? "" : fmt::format("{} of {} blocks use less than half of E4M3's range", halved, all);
}

std::vector<Finding> infinite_globals(const Checkpoint& model) {
  const auto infinite = [](float g) { return std::isinf(g); };
  std::vector<Finding> found = globals_that(model, infinite, "the weight was all zero");
  for (const Module& m : model.modules()) {
    if (m.activation_tensor == nullptr || m.activation || m.reading.complaints.size() > 0) continue;
    const std::optional<float> scale = one_number(model, *m.activation_tensor);
    if (scale && std::isinf(*scale))
      found.push_back({m.activation_tensor->name,
                       fmt::format("{} is {}: no activation was seen", m.activation_tensor->name, *scale)});
  }
  return found;
}

std::vector<Finding> zero_globals(const Checkpoint& model) {
  return globals_that(model, [](float g) { return g == 0.f; }, "the weight was all zero");
}

std::vector<Finding> cache_scales_of_one(const Checkpoint& model) {
  std::vector<Finding> found;
  for (const StoredTensor& t : model.container().tensors()) {
    if (model.place(t).role != Role::kKvScale) continue;
    const std::optional<float> scale = one_number(model, t);
    if (!scale || *scale != 1.f) return {};
    found.push_back({t.name, fmt::format("{} is 1, as every scale of the KV cache here", t.name)});
  }
  if (found.size() < 2) return {};
  return found;
}

}  // namespace tessera
