// The formats of the registry as types, because a kernel's template argument cannot be a class value.
#pragma once
#include "tessera_registry/formats_each.inc"

namespace tessera::cuda::tag {
#define TESSERA_TAG(stem)                            \
  struct stem {                                      \
    static constexpr Format kFormat = formats::stem; \
  };
TESSERA_EACH_formats(TESSERA_TAG)
#undef TESSERA_TAG
}  // namespace tessera::cuda::tag

namespace tessera::cuda {

constexpr bool same_facts(const Format& a, const Format& b) {
  return a.element == b.element && a.block == b.block && a.scale == b.scale && a.has_global == b.has_global;
}
// Without the name, whose characters are host memory.
constexpr Format facts_of(const Format& f) {
  return {.name = {}, .element = f.element, .block = f.block, .scale = f.scale, .has_global = f.has_global};
}
constexpr bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace tessera::cuda
