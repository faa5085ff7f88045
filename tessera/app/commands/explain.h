// tessera explain: what each matrix multiplication of a model reads and which kernel runs it.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_explain();
inline constexpr app::CommandEntry explain{"explain", "what each matrix multiplication of a model reads and runs",
                                           &make_explain};

}  // namespace tessera::commands
