#include "tessera/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

Errc fault(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.code();
  }
  ADD_FAILURE() << "nothing was refused";
  return Errc::kPeer;
}

TEST_F(FileTest, ReadsWhatWasWrittenAnywhere) {
  const File file = File::create(at("f"));
  file.reserve(10);
  file.write(6, bytes_of("abcd"));
  std::vector<std::byte> four(4);
  file.read(6, four);
  EXPECT_EQ(std::memcmp(four.data(), "abcd", 4), 0);
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.read_up_to(8, four), 2u);
}

TEST_F(FileTest, SaysThatItWasCut) {
  write_file(at("f"), "0123456789");
  const File file = File::open(at("f"));
  fs::resize_file(at("f"), 4);
  std::vector<std::byte> bytes(8);
  EXPECT_EQ(fault([&] { file.read(0, bytes); }), Errc::kResource);
}

TEST_F(FileTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(fault([&] { File::open(at("absent")); }), Errc::kNotFound);
  EXPECT_EQ(fault([&] { File::open(folder_.string()); }), Errc::kInvalid);
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(fault([&] { File::open(at("pipe")); }), Errc::kInvalid);  // and does not wait for a writer
  write_file(at("f"), "x");
  EXPECT_EQ(fault([&] { File::create(at("f")); }), Errc::kInvalid);
  EXPECT_EQ(fault([&] { read_file(at("f"), 0); }), Errc::kCorrupt);
}

TEST_F(FileTest, MapsItsBytes) {
  write_file(at("f"), "0123");
  const MappedFile map{File::open(at("f"))};
  ASSERT_EQ(map.bytes().size(), 4u);
  EXPECT_EQ(map.bytes()[3], std::byte{'3'});
  EXPECT_EQ(map.cached_share(0, 4), 1);
  write_file(at("empty"), "");
  EXPECT_TRUE(MappedFile(File::open(at("empty"))).bytes().empty());
}

}  // namespace
}  // namespace tessera
