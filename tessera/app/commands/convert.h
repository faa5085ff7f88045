// tessera convert: change the dialect of a quantized checkpoint, bit for bit.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_convert();
inline constexpr app::CommandEntry convert{"convert", "change the dialect of a quantized checkpoint, bit for bit",
                                           &make_convert};

}  // namespace tessera::commands
