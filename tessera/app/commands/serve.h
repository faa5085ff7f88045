// tessera serve: a language model over HTTP, as OpenAI's API has it.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_serve();
inline constexpr app::CommandEntry serve{"serve", "offer a language model over HTTP, as OpenAI's API has it",
                                         &make_serve};

}  // namespace tessera::commands
