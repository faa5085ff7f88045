// tessera generate: continues a text.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_generate();
inline constexpr app::CommandEntry generate{"generate", "continue a text with a language model", &make_generate};

}  // namespace tessera::commands
