// tessera template: a conversation as the text that a model reads. (`template` cannot be a name in C++.)
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_render_template();
inline constexpr app::CommandEntry render_template{"template", "a conversation as the text that a model reads",
                                                   &make_render_template};

}  // namespace tessera::commands
