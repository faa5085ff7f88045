#include "tessera/weights/fixes/fnuz.h"

#include <cstring>
#include <map>

#include "tessera/base/error.h"
#include "tessera/numeric/lanes.h"

namespace tessera::fixes {
namespace {

using Table = std::array<std::uint8_t, 256>;

constexpr std::uint8_t kMinusZero = 0x80;

Table identity() {
  Table table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i);
  table[kMinusZero] = 0;
  return table;
}

// The E4M3 code of the same number; a FNUZ code reads as half of what it is in E4M3. Exact but for odd multiples of
// 2^-10, and for 0x7F, whose double E4M3 does not have.
Table same_numbers() {
  Table table = identity();
  for (std::uint32_t i = 0; i < 256; ++i) {
    if (i == kMinusZero) continue;
    const std::uint32_t sign = i & 0x80u, magnitude = i & 0x7fu;
    const float half = magnitude == 0x7f ? 240.f : decode(kE4M3, magnitude) / 2;
    table[i] = static_cast<std::uint8_t>(sign | encode(kE4M3, half));
  }
  return table;
}

struct Held {
  bool largest = false, odd = false;  // 0x7F; odd multiples of 2^-10
};
Held held_by(const Container& from, const StoredTensor& codes) {
  constexpr std::uint64_t kPiece = 1 << 20;
  Held held;
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < codes.bytes; at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, codes.bytes - at)));
    from.read(codes, at, piece);
    for (const std::byte b : piece) {
      const auto magnitude = std::to_integer<std::uint32_t>(b) & 0x7fu;
      held.largest = held.largest || magnitude == 0x7f;
      held.odd = held.odd || (magnitude < 16 && magnitude % 2 == 1);
    }
  }
  return held;
}

AmendedTensor codes_as(const StoredTensor& codes, const Table& table) {
  AmendedTensor amended = amend_bytes(codes, table);
  amended.dtype = DType::kF8E4M3;
  return amended;
}

// Half of every scale, or nothing where one has no exact half.
std::optional<std::vector<std::byte>> halved(const Tensor& scales) {
  std::vector<std::byte> bytes(scales.span().begin(), scales.span().end());
  const std::size_t width = bytes.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, scales.count()));
  for (std::int64_t i = 0; i < scales.count(); ++i) {
    std::byte* to = bytes.data() + static_cast<std::size_t>(i) * width;
    if (width == 1) {  // E8M0
      if (*to == std::byte{0}) return {};
      *to = std::byte{static_cast<unsigned char>(std::to_integer<int>(*to) - 1)};
      continue;
    }
    const float scale = element_as_float(scales, i), half = scale / 2;
    if (width == 4) {
      std::memcpy(to, &half, 4);
      if (half * 2 != scale) return {};
    } else {
      const std::uint16_t bits = bits16(scales.dtype(), half);
      if (round_to(scales.dtype(), half) * 2 != scale) return {};
      std::memcpy(to, &bits, 2);
    }
  }
  return bytes;
}

}  // namespace

Repair plan_fnuz(const Checkpoint& model, std::uint64_t most) {
  Repair repair;
  Amendment renamed;
  for (const StoredTensor& t : model.container().tensors()) {
    if (t.dtype != DType::kF8E4M3Fnuz) continue;
    repair.findings.push_back({t.name, fmt::format("{} is F8_E4M3FNUZ", t.name)});
    renamed.tensors.emplace(t.name, codes_as(t, identity()));
  }
  if (repair.findings.empty() || most == 0) return repair;
  const Checkpoint probe = model.amended(renamed);  // which scales belong to them
  repair.amendment = renamed;
  std::map<const StoredTensor*, const Module*> owners;
  for (const Module& m : probe.modules()) owners.emplace(m.codes, &m);
  for (const Finding& f : repair.findings) {
    const StoredTensor &stored = *model.container().find(f.tensor), &shown = *probe.container().find(f.tensor);
    const auto owner = owners.find(&shown);
    if (owner == owners.end()) {
      repair.doubt = fmt::format("{} is the weight of no module here", f.tensor);
      break;
    }
    const StoredTensor* scales = owner->second->scales;
    const Held held = held_by(model.container(), stored);
    if (!held.largest && scales != nullptr) {
      if (std::optional<std::vector<std::byte>> half = halved(model.load_tensor(*scales))) {
        repair.amendment.tensors.emplace(scales->name, amend_whole(*scales, std::move(*half)));
        continue;
      }
    }
    if (held.odd) {
      repair.doubt = fmt::format("{} holds {}, and odd multiples of 2^-10; no E4M3 weight has both exactly", f.tensor,
                                 held.largest        ? "240, whose double E4M3 has not"
                                 : scales == nullptr ? "codes without a scale"
                                                     : "a scale that has no half");
      break;
    }
    repair.amendment.tensors.insert_or_assign(f.tensor, codes_as(stored, same_numbers()));
  }
  if (!repair.doubt.empty()) repair.amendment = {};
  return repair;
}

}  // namespace tessera::fixes
