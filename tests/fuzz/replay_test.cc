// Replays every corpus: seeds, and inputs that once broke a reader. The fuzz targets find new ones (tests/fuzz/run).
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tessera/base/file.h"

#define TESSERA_READER(name) extern "C" int read_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_readers.inc"
#undef TESSERA_READER

namespace tessera {
namespace {

struct Reader {
  const char* name;
  int (*read)(const std::uint8_t* data, std::size_t size);
};
constexpr Reader kReaders[] = {
#define TESSERA_READER(name) {#name, read_##name},
#include "fuzz_readers.inc"
#undef TESSERA_READER
};

class Corpus : public ::testing::TestWithParam<Reader> {};

TEST_P(Corpus, GivesValuesOrErrors) {
  const std::filesystem::path folder = std::filesystem::path(TESSERA_TEST_DATA) / "corpus" / GetParam().name;
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string bytes = read_file(entry.path().string());
    // Every seed, and every prefix of a small one: readers meet files that end anywhere.
    const std::size_t least = bytes.size() <= 512 ? 0 : bytes.size();
    for (std::size_t size = least; size <= bytes.size(); ++size)
      GetParam().read(reinterpret_cast<const std::uint8_t*>(bytes.data()), size);
    ++inputs;
  }
  EXPECT_GE(inputs, 5);
}

INSTANTIATE_TEST_SUITE_P(Readers, Corpus, ::testing::ValuesIn(kReaders),
                         [](const auto& reader) { return std::string(reader.param.name); });

}  // namespace
}  // namespace tessera
