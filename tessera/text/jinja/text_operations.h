// What methods and filters do to texts. Positions are code points.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tessera/text/jinja/machine.h"

namespace tessera::jinja {

enum class Side { kLeft, kRight, kBoth };

// characters: none: white space.
std::string strip(std::string_view text, const std::optional<std::string>& characters, Side side);
// At most `most` cuts; without `separator`, at white space.
Values split(const std::string& text, const std::optional<std::string>& separator, std::size_t most);
Values split_from_right(const std::string& text, const std::optional<std::string>& separator, std::size_t most);
Values split_lines(std::string_view text, bool keep_ends);
// At most `most` replacements, from the left.
std::string replace(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
                    std::size_t most);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
std::string swap_case(std::string_view text);
// Filled up to `width` code points with `fill`. side: where the text stands.
std::string pad(Budget& budget, const std::string& text, std::size_t width, const std::string& fill, Side side);

}  // namespace tessera::jinja
