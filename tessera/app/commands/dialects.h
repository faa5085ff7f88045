// tessera dialects: the checkpoint dialects and what each can say.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_dialects();
inline constexpr app::CommandEntry dialects{"dialects", "the checkpoint dialects and what each can say",
                                            &make_dialects};

}  // namespace tessera::commands
