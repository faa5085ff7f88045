// tessera verify: prove that quantized weights are right.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_verify();
inline constexpr app::CommandEntry verify{"verify", "prove that quantized weights are right", &make_verify};

}  // namespace tessera::commands
