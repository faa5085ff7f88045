// tessera dequantize: make dense weights from a quantized checkpoint or a GGUF file.
#pragma once
#include "tessera/app/command.h"

namespace tessera::commands {

std::unique_ptr<app::Command> make_dequantize();
inline constexpr app::CommandEntry dequantize{
    "dequantize", "make dense weights from a quantized checkpoint or a GGUF file", &make_dequantize};

}  // namespace tessera::commands
