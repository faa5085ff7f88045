// What the operations on checkpoints answer, as JSON: the keys of surface.md.
#pragma once
#include <span>

#include "tessera/base/json.h"
#include "tessera/io/checkpoint.h"
#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tessera/weights/fingerprint.h"
#include "tessera/weights/fix.h"
#include "tessera/weights/import_gguf.h"
#include "tessera/weights/quantize_checkpoint.h"
#include "tessera/weights/verify_checkpoint.h"

namespace tessera {

Json json_of(const Problem& problem);
Json json_of(std::span<const Problem> problems);
Json json_of(std::span<const ContainerWarning> warnings);

// Objects without "warnings": those of opening the checkpoint come before the report's own.
Json json_of(const VerifyReport& report);
Json json_of(const QuantizeReport& report);
Json json_of(const ConvertReport& report);
Json json_of(const DequantizeReport& report);
Json json_of(const GgufImportReport& report);
Json json_of(const FingerprintReport& report);
Json json_of(std::span<const AppliedFix> fixes);

// The warnings of an import: its own, and one "left_out" for each part of the file that the folder has not.
std::vector<ContainerWarning> warnings_of(const GgufImportReport& report);

}  // namespace tessera
