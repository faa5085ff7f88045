// tessera chat: a conversation with a language model in the terminal.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_chat();
inline constexpr app::CommandEntry chat{"chat", "talk with a language model", &make_chat};

}  // namespace tessera::commands
