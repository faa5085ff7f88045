// tessera logits MODEL --ids 1,2,3 --out FILE.safetensors
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_logits();
inline constexpr app::CommandEntry logits{"logits", "write the logits that a model gives after each token",
                                          &make_logits};

}  // namespace tessera::commands
