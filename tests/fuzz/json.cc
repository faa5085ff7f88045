// JSON, as in config.json. Law: what is taken, written and read again is the same.
#include "tessera/base/json.h"

#include "tests/fuzz/untrusted.h"

namespace {

void check(std::string_view text) {
  const tessera::Json json = tessera::parse_json(text);
  TESSERA_ASSERT(tessera::parse_json(json.dump()) == json);
  TESSERA_ASSERT(tessera::parse_json(json.dump(2)) == json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
