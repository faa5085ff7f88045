// tessera formats: the number formats.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_formats();
inline constexpr app::CommandEntry formats{"formats", "the number formats", &make_formats};

}  // namespace tessera::commands
