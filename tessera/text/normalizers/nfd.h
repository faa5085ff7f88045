// NFD: characters decomposed.
#pragma once
#include "tessera/text/normal_form.h"
#include "tessera/text/normalizer.h"

namespace tessera::normalizers {

class Nfd final : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { normalize_to(NormalForm::kNfd, text); }
};

inline constexpr NormalizerKind nfd{"NFD",
                                    [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<Nfd>(); }};

}  // namespace tessera::normalizers
