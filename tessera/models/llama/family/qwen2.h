// Qwen 2 and 2.5: q, k and v have biases, o has none.
#pragma once
#include <array>

#include "tessera/models/llama/llama.h"

namespace tessera::models::family {

inline constexpr std::array<std::string_view, 1> kQwen2Architectures{"Qwen2ForCausalLM"};
inline constexpr ModelFamily qwen2{.name = "qwen2",
                                   .architectures = kQwen2Architectures,
                                   .make = [](const Json& config, const std::function<bool(std::string_view)>& has) {
                                     return make_llama(config, has, LlamaVariant{.always_qkv_bias = true});
                                   }};

}  // namespace tessera::models::family
