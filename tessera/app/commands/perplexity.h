// tessera perplexity: how well a model predicts a text, and whether another does better.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_perplexity();
inline constexpr app::CommandEntry perplexity{"perplexity", "how well a model predicts a text", &make_perplexity};

}  // namespace tessera::commands
