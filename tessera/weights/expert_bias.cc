#include "tessera/weights/expert_bias.h"

#include "tessera/base/error.h"

namespace tessera {

void ExpertBiases::add(const Checkpoint& in, const Module& m, const Spelled& p) {
  const bool from_bank = !m.bank.empty(), to_bank = p.experts > 0;
  if (from_bank == to_bank) return;
  const Extent e = m.reading.extent;
  Move move{
      .from = from_bank ? in.find_bank(m.bank)->bias : in.container().find(m.name + ".bias"), .rows = e.rows, .to = {}};
  if (move.from == nullptr) return;
  // One expert's numbers are a column: as many stored rows as its weight has.
  const auto column = [](const Grid& weight, std::int64_t expert) {
    return Grid{.stored = {weight.stored.rows, 1},
                .origin = expert * weight.stored.rows,
                .first_row = weight.first_row,
                .row_step = weight.row_step};
  };
  move.source = from_bank ? column(m.reading.codes, m.expert) : Grid{.stored = {e.rows, 1}};
  const std::int64_t expert = to_bank ? p.codes.origin / p.codes.stored.count() : 0;
  move.target = to_bank ? column(p.codes, expert) : Grid{.stored = {e.rows, 1}};
  move.to = to_bank ? p.module + "_bias" : m.name + ".bias";
  const std::int64_t expected = from_bank ? m.reading.experts * m.reading.codes.stored.rows : e.rows;
  require(move.from->elements() == expected, Errc::kShape, "{} is [{}]; the experts beside it have {} rows in all",
          move.from->name, fmt::join(move.from->shape, ", "), expected);
  planned_.try_emplace(
      move.to, PlannedTensor{move.to, move.from->dtype, to_bank ? Shape{p.experts, p.codes.stored.rows} : Shape{e.rows},
                             p.module});
  moved_[move.from] = 1;
  moves_.push_back(std::move(move));
}

std::vector<PlannedTensor> ExpertBiases::planned() const {
  std::vector<PlannedTensor> plan;
  for (const auto& [name, tensor] : planned_) plan.push_back(tensor);
  return plan;
}

void ExpertBiases::write(const Checkpoint& in, ShardedWriter& writer) const {
  for (const Move& move : moves_) {
    const std::size_t unit = static_cast<std::size_t>(dtype_bits(move.from->dtype)) / 8;
    std::vector<std::byte> column(static_cast<std::size_t>(move.rows) * unit);
    take_grid(in.container(), *move.from, move.source, unit, {move.rows, 1}, 0, column);
    if (move.target.row_step == 1) {
      writer.write(move.to, static_cast<std::uint64_t>(move.target.index(0, 0)) * unit, column);
      continue;
    }
    for (std::int64_t r = 0; r < move.rows; ++r)
      writer.write(move.to, static_cast<std::uint64_t>(move.target.index(r, 0)) * unit,
                   std::span(column).subspan(static_cast<std::size_t>(r) * unit, unit));
  }
}

}  // namespace tessera
