// YAML, as in recipes and run configurations. Law: what is taken can be written as JSON.
#include "tessera/base/json.h"
#include "tests/fuzz/untrusted.h"

namespace {

void check(std::string_view text) {
  const tessera::Json json = tessera::parse_yaml(text);
  tessera::parse_json(json.dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
