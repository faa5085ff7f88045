// The index of a sharded checkpoint. Law: the file names that are taken are names, never paths.
#include "tessera/io/shard_index.h"

#include "tests/fuzz/untrusted.h"

namespace {

void check(std::string_view text) {
  const tessera::ShardIndex index = tessera::parse_shard_index(text);
  for (const std::string& file : index.files)
    TESSERA_ASSERT(!file.empty() && file != ".." && file.find('/') == std::string::npos);
  for (const auto& [tensor, file] : index.file_of) TESSERA_ASSERT(file < index.files.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
