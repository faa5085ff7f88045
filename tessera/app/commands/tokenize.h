// tessera tokenize: a text as token ids, or ids as text.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_tokenize();
inline constexpr app::CommandEntry tokenize{"tokenize", "a text as token ids, or ids as text", &make_tokenize};

}  // namespace tessera::commands
