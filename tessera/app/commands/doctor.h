// tessera doctor: what this build and this machine can do.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_doctor();
inline constexpr app::CommandEntry doctor{"doctor", "what this build and this machine can do", &make_doctor};

}  // namespace tessera::commands
