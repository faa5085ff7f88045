#include "tessera/text/metaspace.h"

#include "tessera/text/part_kind.h"
#include "tessera/text/unicode.h"

namespace tessera {

std::string metaspace_mark(const Json& json) {
  std::string mark = string_field(json, "replacement", "\xE2\x96\x81");  // U+2581
  require(count_code_points(mark) == 1, Errc::kCorrupt, "\"replacement\" is '{}'; one character is expected",
          printable(mark));
  return mark;
}

MetaspacePrefix metaspace_prefix(const Json& json) {
  const std::string otherwise = bool_field(json, "add_prefix_space", true) ? "always" : "never";
  const std::string scheme = string_field(json, "prepend_scheme", otherwise);
  if (scheme == "always") return MetaspacePrefix::kAlways;
  if (scheme == "first") return MetaspacePrefix::kFirst;
  if (scheme == "never") return MetaspacePrefix::kNever;
  fail(Errc::kCorrupt, "\"prepend_scheme\" is '{}'; there are: always, first, never", printable(scheme));
}

}  // namespace tessera
