// Llama 1 to 3, SmolLM and SmolLM2.
#pragma once
#include <array>

#include "tessera/models/llama/llama.h"

namespace tessera::models::family {

inline constexpr std::array<std::string_view, 1> kLlamaArchitectures{"LlamaForCausalLM"};
inline constexpr ModelFamily llama{.name = "llama",
                                   .architectures = kLlamaArchitectures,
                                   .make = [](const Json& config, const std::function<bool(std::string_view)>& has) {
                                     return make_llama(config, has, LlamaVariant{});
                                   }};

}  // namespace tessera::models::family
