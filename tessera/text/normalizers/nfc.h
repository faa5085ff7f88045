// NFC: characters composed.
#pragma once
#include "tessera/text/normal_form.h"
#include "tessera/text/normalizer.h"

namespace tessera::normalizers {

class Nfc final : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { normalize_to(NormalForm::kNfc, text); }
};

inline constexpr NormalizerKind nfc{"NFC",
                                    [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<Nfc>(); }};

}  // namespace tessera::normalizers
