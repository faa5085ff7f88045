#include "tessera/weights/fixes/nan_block_scales.h"

#include <algorithm>
#include <map>

#include "tessera/base/error.h"

namespace tessera::fixes {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;  // bytes read at a time

struct Count {
  std::uint64_t looked = 0, nan = 0, minus_nan = 0;
};

Count count_nan(const Container& from, const StoredTensor& scales, std::uint64_t most) {
  Count count;
  std::vector<std::byte> piece;
  const std::uint64_t end = std::min(most, scales.bytes);
  for (std::uint64_t at = 0; at < end; at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, end - at)));
    from.read(scales, at, piece);
    for (const std::byte b : piece) {
      count.nan += b == std::byte{0x7f};
      count.minus_nan += b == std::byte{0xff};
    }
  }
  count.looked = end;
  return count;
}

// The tables of what a byte becomes.
std::array<std::uint8_t, 256> saturated() {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>((i & 0x7f) == 0x7f ? 0x7e : i);
  return table;
}

}  // namespace

Repair plan_nan_block_scales(const Checkpoint& model, std::uint64_t most) {
  Repair repair;
  std::map<const StoredTensor*, std::vector<const Module*>> modules;  // those of a bank share their tensors
  if (most > 0)
    for (const Module& m : model.modules())
      if (m.is_quantized() && m.reading.complaints.empty() && m.reading.format.scale == kE4M3 && m.scales != nullptr)
        modules[m.scales].push_back(&m);
  for (const auto& [scales, list] : modules) {
    const Count count = count_nan(model.container(), *scales, most);
    if (count.nan + count.minus_nan == 0) continue;
    const bool zero_weight = list.size() == 1 && count.nan + count.minus_nan == count.looked &&
                             list[0]->global_tensor != nullptr && list[0]->global_in_file == 0;
    repair.findings.push_back(
        {scales->name, fmt::format("{} holds {} NaN{}", scales->name, count.nan + count.minus_nan,
                                   zero_weight ? " and nothing else, under a global of 0: the weight was all zero"
                                               : ", where a scale beyond 448 was not clamped")});
    if (count.minus_nan > 0 && !zero_weight && repair.doubt.empty())
      repair.doubt = fmt::format("{} holds {} bytes 0xFF; what exceeds 448 is 0x7F, and 0 / 0 means a global of 0",
                                 scales->name, count.minus_nan);
    repair.amendment.tensors.emplace(scales->name, amend_bytes(*scales, saturated()));
    if (!zero_weight) continue;
    const StoredTensor& codes = *list[0]->codes;
    repair.amendment.tensors.emplace(codes.name, amend_bytes(codes, {}));
  }
  if (!repair.doubt.empty()) repair.amendment = {};
  return repair;
}

}  // namespace tessera::fixes
