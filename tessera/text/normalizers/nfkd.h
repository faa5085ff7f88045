// NFKD: compatible characters replaced, decomposed.
#pragma once
#include "tessera/text/normal_form.h"
#include "tessera/text/normalizer.h"

namespace tessera::normalizers {

class Nfkd final : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { normalize_to(NormalForm::kNfkd, text); }
};

inline constexpr NormalizerKind nfkd{
    "NFKD", [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<Nfkd>(); }};

}  // namespace tessera::normalizers
