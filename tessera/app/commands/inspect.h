// tessera inspect: what a checkpoint really is: formats, dialects, problems.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_inspect();
inline constexpr app::CommandEntry inspect{"inspect", "what a checkpoint really is: formats, dialects, problems",
                                           &make_inspect};

}  // namespace tessera::commands
