#include "tessera/numeric/writer.h"

#include <string>

#include "tessera/base/error.h"
#include "tessera_registry/writers.inc"

namespace tessera {

std::span<const Writer* const> all_writers() { return kRegistry_writers; }

const Writer& find_writer(std::string_view name) {
  std::string known;
  for (const Writer* writer : all_writers()) {
    if (writer->name == name) return *writer;
    known.append(known.empty() ? "" : ", ").append(writer->name);
  }
  fail(Errc::kNotFound, "no writer '{}'; there are: {}", name, known);
}

}  // namespace tessera
