#include "tessera/text/normal_form.h"

#include <unicode/unorm2.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/text/merge_sort.h"
#include "tessera/text/unicode.h"

namespace tessera {
namespace {

bool composes(NormalForm form) { return form == NormalForm::kNfc || form == NormalForm::kNfkc; }
bool is_compatible(NormalForm form) { return form == NormalForm::kNfkc || form == NormalForm::kNfkd; }

UProperty quick_check_property(NormalForm form) {
  constexpr std::array kProperties = {UCHAR_NFC_QUICK_CHECK, UCHAR_NFD_QUICK_CHECK, UCHAR_NFKC_QUICK_CHECK,
                                      UCHAR_NFKD_QUICK_CHECK};
  return kProperties[static_cast<std::size_t>(form)];
}

// Whether the text is in the form for sure. Source: UAX 15, section 9.
bool is_in(NormalForm form, std::string_view text) {
  std::uint8_t last_class = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    at += c.bytes;
    if (c.value < 0xC0) {  // no mark; U+00A0 to U+00BF are their own NFC and NFD, not NFKC
      last_class = 0;
      if (c.value < 0xA0 || !is_compatible(form)) continue;
    }
    const auto code = static_cast<UChar32>(c.value);
    const std::uint8_t combining_class = u_getCombiningClass(code);
    if (last_class > combining_class && combining_class != 0) return false;
    if (u_getIntPropertyValue(code, quick_check_property(form)) != UNORM_YES) return false;
    last_class = combining_class;
  }
  return true;
}

// A character of the result. change: 0, it stands for one character of the source; 1, for none; -n, for 1 + n.
struct Changed {
  UChar32 c = 0;
  std::int32_t change = 0;
  std::uint8_t combining_class = 0;
};

const UNormalizer2* tables(bool compatible) {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2* found = compatible ? unorm2_getNFKCInstance(&error) : unorm2_getNFCInstance(&error);
  require(U_SUCCESS(error) != 0, Errc::kResource, "ICU has no normalization tables: {}", u_errorName(error));
  return found;
}

std::vector<Changed> decompose(std::string_view text, bool compatible) {
  const UNormalizer2* forms = tables(compatible);
  std::vector<Changed> all;
  all.reserve(text.size());
  std::size_t pending = 0;  // from here on marks wait to be put in order
  const auto order_pending = [&] {
    merge_sort(std::span(all).subspan(pending),
               [](const Changed& a, const Changed& b) { return a.combining_class < b.combining_class; });
    pending = all.size();
  };
  const auto add = [&](UChar32 c, std::int32_t change) {
    const std::uint8_t combining_class = u_getCombiningClass(c);
    if (combining_class == 0) order_pending();
    all.push_back({c, change, combining_class});
    if (combining_class == 0) pending = all.size();
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    at += c.bytes;
    std::array<UChar, 64> units{};
    UErrorCode error = U_ZERO_ERROR;
    const std::int32_t length = unorm2_getDecomposition(forms, static_cast<UChar32>(c.value), units.data(),
                                                        static_cast<std::int32_t>(units.size()), &error);
    if (length < 0) {
      add(static_cast<UChar32>(c.value), 0);
      continue;
    }
    for (std::int32_t i = 0; i < length;) {
      const std::int32_t first = i;
      UChar32 part = 0;
      U16_NEXT(units.data(), i, length, part);
      add(part, first == 0 ? 0 : 1);
    }
  }
  order_pending();
  return all;
}

std::vector<Changed> compose(const std::vector<Changed>& from) {
  const UNormalizer2* forms = tables(false);
  std::vector<Changed> all, marks;  // marks: after `starter`, not composed with it
  all.reserve(from.size());
  Changed starter;
  bool has_starter = false;
  const auto flush = [&] {
    if (has_starter) all.push_back(starter);
    all.insert(all.end(), marks.begin(), marks.end());
    marks.clear();
  };
  for (const Changed& next : from) {
    if (!has_starter) {
      if (next.combining_class != 0) {
        all.push_back(next);
      } else {
        starter = next;
        has_starter = true;
      }
      continue;
    }
    const bool blocked = !marks.empty() && marks.back().combining_class >= next.combining_class;
    const UChar32 composed = blocked ? -1 : unorm2_composePair(forms, starter.c, next.c);
    if (composed >= 0) {
      starter = {composed, starter.change + next.change - 1, 0};
    } else if (next.combining_class == 0) {
      flush();
      starter = next;
    } else {
      marks.push_back(next);
    }
  }
  flush();
  return all;
}

AlignedText apply_changes(const std::vector<Changed>& changes, const AlignedText& text) {
  AlignedText result = text.successor();
  std::size_t at = 0;
  for (const Changed& changed : changes) {
    ByteRange origin;
    if (changed.change > 0) {
      origin = at > 0 ? text.origin(at - 1) : ByteRange{text.origin(0).begin, text.origin(0).begin};
    } else {
      origin = text.origin(std::min(at, text.size() - 1));
      for (std::int32_t i = changed.change; i <= 0 && at < text.size(); ++i)
        at += read_code_point(text.text(), at).bytes;
    }
    result.append(utf8_of(static_cast<char32_t>(changed.c)), origin);
  }
  return result;
}

}  // namespace

void normalize_to(NormalForm form, AlignedText& text) {
  if (is_in(form, text.text())) return;
  std::vector<Changed> changes = decompose(text.text(), is_compatible(form));
  if (composes(form)) changes = compose(changes);
  text = apply_changes(changes, text);
}

}  // namespace tessera
