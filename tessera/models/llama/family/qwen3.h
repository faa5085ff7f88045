// Qwen 3, dense: the heads of q and k are normed before they are rotated.
#pragma once
#include <array>

#include "tessera/models/llama/llama.h"

namespace tessera::models::family {

inline constexpr std::array<std::string_view, 1> kQwen3Architectures{"Qwen3ForCausalLM"};
inline constexpr ModelFamily qwen3{.name = "qwen3",
                                   .architectures = kQwen3Architectures,
                                   .make = [](const Json& config, const std::function<bool(std::string_view)>& has) {
                                     return make_llama(config, has, LlamaVariant{.has_head_norms = true});
                                   }};

}  // namespace tessera::models::family
