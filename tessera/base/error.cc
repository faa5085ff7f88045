#include "tessera/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace tessera {

std::string_view errc_name(Errc code) {
  switch (code) {
    case Errc::kInvalid:
      return "invalid";
    case Errc::kShape:
      return "shape";
    case Errc::kCorrupt:
      return "corrupt";
    case Errc::kNotFound:
      return "not_found";
    case Errc::kUnsupported:
      return "unsupported";
    case Errc::kResource:
      return "resource";
    case Errc::kPeer:
      return "peer";
  }
  return "invalid";
}

int exit_status(Errc code) { return 10 + static_cast<int>(code); }

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\nThis is a bug in Tessera.\n", file, line, condition);
  std::abort();
}

}  // namespace tessera
