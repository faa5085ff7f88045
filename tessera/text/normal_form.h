// Unicode's four normal forms of an AlignedText. Source: UAX 15; ICU's tables.
#pragma once
#include <cstdint>

#include "tessera/text/aligned_text.h"

namespace tessera {

enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// A composed character has the origin of the first character that it is made of; the further characters of a
// decomposed one have its origin.
void normalize_to(NormalForm form, AlignedText& text);

}  // namespace tessera
