// NFKC: compatible characters replaced, composed.
#pragma once
#include "tessera/text/normal_form.h"
#include "tessera/text/normalizer.h"

namespace tessera::normalizers {

class Nfkc final : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { normalize_to(NormalForm::kNfkc, text); }
};

inline constexpr NormalizerKind nfkc{
    "NFKC", [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<Nfkc>(); }};

}  // namespace tessera::normalizers
