#include "tessera/app/command.h"

#include <algorithm>

#include "tessera_registry/commands.inc"

namespace tessera::app {

std::span<const CommandEntry* const> all_commands() { return kRegistry_commands; }

Stream Session::open_stream() const {
  Stream stream(parse_device(device), threads);
  if (!cpu_tier.empty()) stream.set_cpu_tier(parse_cpu_tier(cpu_tier));
  return stream;
}

std::string TextTable::text(std::string_view right) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      const bool to_right = i < right.size() && right[i] == 'r';
      line += (i > 0 ? "  " : "") + (to_right ? pad + row[i] : row[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace tessera::app
