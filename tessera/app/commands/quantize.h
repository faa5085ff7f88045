// tessera quantize: make a quantized checkpoint from dense weights.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_quantize();
inline constexpr app::CommandEntry quantize{"quantize", "make a quantized checkpoint from dense weights",
                                            &make_quantize};

}  // namespace tessera::commands
