// What a scan finds of its modules taken together: names that stand twice, experts that are missing, and what the
// configuration declares of them.
#pragma once
#include "tessera/io/checkpoint_scan.h"

namespace tessera {

// Adds problems and contradictions to the scan, whose modules are all there, sorted by name.
void check_modules(CheckpointScan& scan);

}  // namespace tessera
