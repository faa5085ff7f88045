// Parts of answers that several commands give.
#pragma once
#include <string>
#include <vector>

#include "tessera/app/command.h"
#include "tessera/io/checkpoint.h"

namespace tessera::app {

// "  harmful  missing  NAME: message" lines, at most `most` of them and a count of the rest.
std::string text_of(const std::vector<Problem>& problems, std::size_t most = 20);
std::string format_count(std::uint64_t count);  // "134.5 M"

}  // namespace tessera::app
