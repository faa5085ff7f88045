#include "tests/support/temporary_folder.h"

#include <unistd.h>

#include <atomic>

namespace tessera::test {

TemporaryFolder::TemporaryFolder() {
  static std::atomic<int> count{0};
  path_ = std::filesystem::temp_directory_path() /
          ("tessera-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
  std::filesystem::create_directories(path_);
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tessera::test
