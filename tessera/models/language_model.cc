#include "tessera/models/language_model.h"

#include "tessera/base/error.h"
#include "tessera_registry/family.inc"

namespace tessera::models {

std::span<const ModelFamily* const> all_families() { return kRegistry_family; }

const ModelFamily& find_family(const Json& config) {
  const Json* names = config.find("architectures");
  require(names != nullptr && names->is_array() && !names->as_array().empty(), Errc::kNotFound,
          "config.json has no 'architectures': which model it is cannot be told");
  std::string known;
  for (const ModelFamily* family : all_families())
    for (const std::string_view architecture : family->architectures) {
      known.append(known.empty() ? "" : ", ").append(architecture);
      for (const Json& name : names->as_array())
        if (name.as_string() == architecture) return *family;
    }
  fail(Errc::kUnsupported, "no model of architecture '{}' here; there are: {}", names->as_array()[0].as_string(),
       known);
}

}  // namespace tessera::models
