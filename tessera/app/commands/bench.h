// tessera bench: how fast a model reads a prompt and decodes, beside what memory allows.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_bench();
inline constexpr app::CommandEntry bench{"bench", "how fast a model reads a prompt and decodes", &make_bench};

}  // namespace tessera::commands
