// Containers that must load and containers that must be refused: the verdicts of tests/data/containers, the reference's
// security tests (spec 3.4) and the limits that files on disk cannot show. A refusal is quick and names file and fault.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/io/container.h"
#include "tessera/io/safetensors.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string data(const std::string& name) { return std::string(TESSERA_TEST_DATA) + "/containers/" + name; }

struct Outcome {
  std::optional<Container> container;
  std::optional<Error> error;
  double seconds = 0;  // of processor time: what other processes do does not count
};

Outcome try_open(const std::string& path) {
  const std::clock_t start = std::clock();
  Outcome outcome;
  try {
    outcome.container = Container::open(path);
  } catch (const Error& e) {
    outcome.error = e;
  }
  outcome.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return outcome;
}

// A sentence that names the file, says what is wrong in more than a word, and never more than a screen.
void expect_sentence(const Error& error, const std::string& path) {
  const std::string text = error.what();
  EXPECT_NE(text.find(fs::path(path).filename().string()), std::string::npos) << text;
  EXPECT_GT(error.message().size(), path.size() + 15) << text;
  EXPECT_LT(text.size(), 1000u + 2 * path.size()) << text;
  EXPECT_FALSE(error.file().empty()) << text;
  EXPECT_TRUE(error.code() == Errc::kCorrupt || error.code() == Errc::kNotFound || error.code() == Errc::kUnsupported)
      << text;
}

void expect_verdict(const std::string& path, const std::string& verdict) {
  const Outcome outcome = try_open(path);
  EXPECT_LT(outcome.seconds, 0.5) << path;
  if (verdict == "accept") {
    EXPECT_TRUE(outcome.container) << path << ": " << outcome.error->what();
  } else {
    ASSERT_TRUE(outcome.error) << path << " was accepted";
    expect_sentence(*outcome.error, path);
  }
}

Json expected(const std::string& folder) { return parse_json(read_file(data("") + folder + "/expected.json")); }

TEST(Containers, GetTheVerdictsOfTheSafetensorsFixtures) {
  const Json cases = expected("safetensors");
  EXPECT_EQ(cases.as_object().size(), 29u);
  for (const auto& [name, facts] : cases.as_object())
    expect_verdict(data("safetensors/") + name, facts.find("verdict")->as_string());
}

TEST(Containers, GetTheVerdictsOfTheGgufFixtures) {
  const Json cases = expected("gguf");
  EXPECT_EQ(cases.as_object().size(), 23u);
  for (const auto& [name, facts] : cases.as_object()) {
    expect_verdict(data("gguf/") + name, facts.find("verdict")->as_string());
    if (facts.find("verdict")->as_string() == "reject") continue;
    EXPECT_EQ(static_cast<std::int64_t>(Container::open(data("gguf/") + name).tensors().size()),
              facts.find("gguf_py_0_19_0", "tensors")->as_int64());
  }
}

TEST(Containers, GetTheVerdictsOfTheShardedFixtures) {
  const Json all = expected("sharded");
  for (const auto& [name, facts] : all.find("cases")->as_object()) {
    const std::string folder = data("sharded/") + name;
    const std::string verdict = facts.find("verdict")->as_string();
    for (const std::string& path : {folder, folder + "/model.safetensors.index.json"}) {
      const Outcome outcome = try_open(path);
      ASSERT_EQ(outcome.container.has_value(), verdict == "accept") << path;
      if (outcome.error) {
        expect_sentence(*outcome.error, folder);
        EXPECT_EQ(outcome.error->code(), name == "bad_missing_shard" ? Errc::kNotFound : Errc::kCorrupt);
        continue;
      }
      const Container& container = *outcome.container;
      EXPECT_EQ(container.kind(), Container::Kind::kFolder);
      EXPECT_EQ(container.folder(), folder);
      EXPECT_EQ(container.warnings().size(), name == "ok_wrong_total_size" ? 1u : 0u);
      for (const auto& [tensor, rows] : all.find("values")->as_object()) {
        const StoredTensor* stored = container.find(tensor);
        ASSERT_NE(stored, nullptr);
        std::vector<float> values(static_cast<std::size_t>(stored->elements()));
        container.read(*stored, 0, std::as_writable_bytes(std::span(values)));
        std::size_t i = 0;
        for (const Json& row : rows.as_array())
          for (const Json& value : row.as_array()) EXPECT_EQ(static_cast<double>(values[i++]), value.as_double());
        EXPECT_EQ(i, values.size());
      }
    }
  }
}

TEST(Containers, KnowEveryDtype) {
  const Container container = Container::open(data("safetensors/ok_all_dtypes.safetensors"));
  ASSERT_EQ(container.tensors().size(), kDTypes.size());
  for (const DTypeFacts& facts : kDTypes) {
    const StoredTensor* tensor = container.find("t." + std::string(facts.name));
    ASSERT_NE(tensor, nullptr) << facts.name;
    EXPECT_EQ(tensor->type, facts.name);
    EXPECT_EQ(tensor->shape, (std::vector<std::int64_t>{2, 4}));
    EXPECT_EQ(tensor->bytes, static_cast<std::uint64_t>(facts.bits));  // 8 values
  }
  EXPECT_EQ(container.files()[0].metadata.at("note"), "every dtype");
}

class MadeContainers : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-containers-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  // A file with this header and `data` bytes of zeros (sparse).
  std::string make(const std::string& name, const std::string& header, std::uint64_t data) const {
    const std::string path = at(name);
    const std::uint64_t length = header.size();
    fs::create_directories(fs::path(path).parent_path());
    fs::remove(path);
    write_file(path, std::string(reinterpret_cast<const char*>(&length), 8) + header);
    fs::resize_file(path, 8 + length + data);
    return path;
  }
  Error refuse(const std::string& path, double most_seconds = 0.5) const {
    Outcome outcome = try_open(path);
    EXPECT_LT(outcome.seconds, most_seconds);
    if (!outcome.error) {
      ADD_FAILURE() << path << " was accepted";
      return Error(Errc::kPeer, "");
    }
    return *outcome.error;
  }
  void expect_refused(const std::string& header, std::uint64_t data, const std::string& fault) const {
    const std::string path = make("model.safetensors", header, data);
    const Error error = refuse(path);
    expect_sentence(error, path);
    EXPECT_NE(error.message().find(fault), std::string::npos) << error.message();
  }

  fs::path folder_;
};

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, std::uint64_t begin,
                  std::uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype, shape, begin, end);
}
std::string braces(const std::string& members) { return "{" + std::string(members) + "}"; }

// Measured 0.04-0.06 s in the release build; debug and sanitizer builds are some 20 times slower.
#ifdef NDEBUG
constexpr double kManyTensorsSeconds = 0.4;
#else
constexpr double kManyTensorsSeconds = 8;
#endif

TEST_F(MadeContainers, LoadAHundredThousandTensorsOfOneByte) {
  std::string members;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    if (i > 0) members += ',';
    members += entry(fmt::format("t{}", i), "U8", "[1]", i, i + 1);
  }
  const Outcome outcome = try_open(make("many.safetensors", braces(members), 100'000));
  ASSERT_TRUE(outcome.container) << outcome.error->what();
  EXPECT_EQ(outcome.container->tensors().size(), 100'000u);
  EXPECT_LT(outcome.seconds, kManyTensorsSeconds);
}

TEST_F(MadeContainers, RefuseManyTensorsOnTheSameBytesQuickly) {
  std::string members;
  for (int i = 0; i < 100'000; ++i) {
    if (i > 0) members += ',';
    members += entry(fmt::format("t{}", i), "F32", "[200,200]", 0, 160'000);
  }
  const Error error = refuse(make("same.safetensors", braces(members), 160'000), kManyTensorsSeconds);
  EXPECT_NE(error.message().find("begins at byte 0 of the data, inside tensor"), std::string::npos) << error.message();
}

TEST_F(MadeContainers, RefuseMoreTensorsThanAnyModelHas) {
  std::string members;
  for (int i = 0; i <= 1'000'000; ++i) {
    if (i > 0) members += ',';
    members += entry(fmt::format("{}", i), "U8", "[0]", 0, 0);
  }
  const Error error = refuse(make("most.safetensors", braces(members), 0), 5 * kManyTensorsSeconds);
  EXPECT_NE(error.message().find("more than 1000000 tensors"), std::string::npos) << error.message();
}

TEST_F(MadeContainers, RefuseWhatTheReferenceRefuses) {
  const std::string a = entry("a", "U8", "[4]", 0, 4);
  expect_refused("{", 0, "the header ends where");
  expect_refused("[]", 0, "is no JSON object");
  expect_refused("", 0, "is no JSON object");
  expect_refused("\xff", 0, "not UTF-8");
  expect_refused(braces(a), 6, "2 bytes after its last tensor");
  expect_refused(braces(a), 2, "cut short");
  expect_refused(braces(a) + "x", 4, "after its object");
  expect_refused(braces(entry("a", "I32", "[2,2]", 0, 4)), 4, "needs 16 bytes and its data_offsets span 4");
  expect_refused(braces(entry("a", "U8", "[2,18446744073709551614]", 0, 4)), 4, "a dimension of");
  expect_refused(braces(entry("a", "F32", "[2,9223372036854775807]", 0, 4)), 4, "beyond 2^64 bits");
  expect_refused(braces(entry("a", "F4", "[1,3]", 0, 2)), 2, "no whole number of bytes");
  expect_refused(braces(entry("a", "F4", "[1,2]", 0, 2)), 2, "needs 1 bytes");
  expect_refused(braces(entry("a", "F4", "[2,3]", 0, 3)), 3, "end inside a byte");
  expect_refused(braces(entry("a", "U8", "[4]", 4, 0)), 4, "before it begins");
  expect_refused(braces(entry("a", "U8", "[4]", 18446744073709551612u, 0)), 4, "before it begins");
}

TEST_F(MadeContainers, RefuseWhatOnlyAStrictParserSees) {
  const std::string a = entry("a", "U8", "[4]", 0, 4);
  expect_refused(braces(a + "," + a), 4, "stands twice");
  expect_refused(braces(a + "," + entry("\\u0061", "U8", "[0]", 4, 4)), 4, "stands twice");
  expect_refused(braces(R"("a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]})"), 4, "'dtype' twice");
  expect_refused(braces(R"("a":{"dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4]})"), 4, "'shape' twice");
  expect_refused(braces(R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data_offsets":[0,4]})"), 4,
                 "'data_offsets' twice");
  expect_refused(braces(R"("__metadata__":{"x":"1","x":"1"},)" + a), 4, "'x' stands twice");
  expect_refused(braces(R"("__metadata__":{},"__metadata__":{},)" + a), 4, "__metadata__ twice");
  expect_refused(braces(R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"stride":[1]})"), 4, "unknown field");
  for (const char* bad : {"[-4]", "[4.0]", "[4e0]", "[04]", "[+4]", "[\"4\"]", "[99999999999999999999]", "[4,]", "4"})
    expect_refused(braces(entry("a", "U8", bad, 0, 4)), 4, "tensor 'a'");
  expect_refused(braces(entry("\\ud800", "U8", "[4]", 0, 4)), 4, "half a surrogate pair");
  expect_refused(braces(entry("\\udc00", "U8", "[4]", 0, 4)), 4, "half a surrogate pair");
  expect_refused(braces(entry("\\u0000", "U8", "[4]", 0, 4)), 4, "zero character");
  expect_refused(braces(entry("a\nb", "U8", "[4]", 0, 4)), 4, "control character");
  expect_refused(braces(entry(std::string(5000, 'n'), "U8", "[4]", 0, 4)), 4, "5000 bytes");
  expect_refused(braces(entry("a", "U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", 0, 4)), 4, "more than 16 dimensions");
  expect_refused(braces(entry("a", "U8", "[4]", 0, 4) + ","), 4, "a tensor's name is expected");
}

TEST_F(MadeContainers, LoadWhatTheFormatAllows) {
  const std::string a = entry("a", "U8", "[4]", 0, 4);
  EXPECT_TRUE(try_open(make("f.safetensors", "{}\r \t\n", 0)).container);
  EXPECT_TRUE(try_open(make("f.safetensors", " \n" + braces(" " + a + " ") + "  ", 4)).container);
  EXPECT_TRUE(try_open(make("f.safetensors", braces(entry("a", "F32", "[2,0]", 0, 0)), 0)).container);
  EXPECT_TRUE(try_open(make("f.safetensors", braces(entry("a", "F32", "[]", 0, 4)), 4)).container);
  // In any order, with fields in any order, and every escape that JSON has.
  const Outcome outcome = try_open(make(
      "f.safetensors",
      braces(R"("\ud83d\ude00\"\\\/\b\f\n\r\t\u00e9":{"data_offsets":[4,5],"shape":[1],"dtype":"BOOL"},)" + a), 5));
  ASSERT_TRUE(outcome.container) << outcome.error->what();
  EXPECT_EQ(outcome.container->tensors()[1].name, "\xF0\x9F\x98\x80\"\\/\b\f\n\r\té");
}

TEST_F(MadeContainers, CountOffsetsBeyond32Bits) {
  constexpr std::uint64_t kFirst = 5'000'000'000;
  const std::string header = braces(entry("big", "U8", fmt::format("[{}]", kFirst), 0, kFirst) + "," +
                                    entry("small", "U8", "[4]", kFirst, kFirst + 4));
  const std::string path = make("sparse.safetensors", header, kFirst + 4);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file << "!end.";
    ASSERT_TRUE(file.flush());
  }
  const Container container = Container::open(path);
  const StoredTensor& big = *container.find("big");
  EXPECT_EQ(big.elements(), static_cast<std::int64_t>(kFirst));
  std::byte last[1]{};
  container.read(big, kFirst - 1, last);
  EXPECT_EQ(last[0], std::byte{'!'});
  const std::vector<std::byte> small = container.read_all(*container.find("small"));
  EXPECT_EQ(std::memcmp(small.data(), "end.", 4), 0);
  EXPECT_EQ(std::memcmp(container.map(*container.find("small")).data(), "end.", 4), 0);
  EXPECT_EQ(container.map(big).size(), kFirst);
}

TEST_F(MadeContainers, SayThatAFileWasCutWhileOpen) {
  const std::string path = make("cut.safetensors", braces(entry("a", "U8", "[4096]", 0, 4096)), 4096);
  const Container container = Container::open(path);
  fs::resize_file(path, 1000);
  for (const auto& action : {std::function<void()>([&] { container.read_all(*container.find("a")); }),
                             std::function<void()>([&] { container.map(*container.find("a")); })}) {
    try {
      action();
      FAIL() << "nothing was refused";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::kResource);
      EXPECT_NE(e.message().find("cut after it was opened"), std::string::npos) << e.what();
      EXPECT_EQ(e.tensor(), "a");
    }
  }
}

TEST_F(MadeContainers, RefuseReadsBeyondTheTensor) {
  const Container container = Container::open(
      make("f.safetensors", braces(entry("a", "U8", "[4]", 0, 4) + "," + entry("b", "U8", "[4]", 4, 8)), 8));
  std::vector<std::byte> five(5);
  EXPECT_THROW(container.read(*container.find("a"), 0, five), Error);
  EXPECT_THROW(container.read(*container.find("a"), 5, {}), Error);
  EXPECT_EQ(container.find("c"), nullptr);
}

std::string index_text(const std::vector<std::pair<std::string, std::string>>& map) {
  JsonObject weights;
  for (const auto& [tensor, file] : map) weights.emplace_back(tensor, Json(file));
  Json index;
  index.set("weight_map", std::move(weights));
  return index.dump(2);
}

TEST_F(MadeContainers, ReadOnlyTheFilesOfTheIndex) {
  make("model-1.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  make("consolidated.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  write_file(at("broken.safetensors"), "no such thing");
  write_file(at("model.safetensors.index.json"), index_text({{"a", "model-1.safetensors"}}));
  EXPECT_EQ(Container::open(folder_.string()).files().size(), 1u);
}

TEST_F(MadeContainers, KeepTensorsThatTheIndexForgot) {
  make("model-1.safetensors", braces(entry("a", "U8", "[4]", 0, 4) + "," + entry("a_scale", "F32", "[]", 4, 8)), 8);
  write_file(at("model.safetensors.index.json"), index_text({{"a", "model-1.safetensors"}}));
  const Container container = Container::open(folder_.string());
  EXPECT_NE(container.find("a_scale"), nullptr);
  ASSERT_EQ(container.warnings().size(), 1u);
  EXPECT_EQ(container.warnings()[0].code, "unmapped_tensors");
  EXPECT_EQ(container.warnings()[0].tensor, "a_scale");
}

TEST_F(MadeContainers, RefuseFileNamesThatArePaths) {
  make("sub/model.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  make("model.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  for (const std::string& name :
       {std::string("sub/model.safetensors"), std::string("./model.safetensors"), std::string(".."), std::string(""),
        at("model.safetensors"), std::string("sub\\model.safetensors"), std::string("model.bin"),
        std::string("model\0.safetensors", 18)}) {
    fs::remove(at("model.safetensors.index.json"));
    write_file(at("model.safetensors.index.json"), index_text({{"a", name}}));
    EXPECT_EQ(refuse(folder_.string()).code(), Errc::kCorrupt) << name;
  }
}

TEST_F(MadeContainers, FindDiffusersIndexes) {
  make("diffusion_pytorch_model-00001-of-00001.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  write_file(at("diffusion_pytorch_model.safetensors.index.json"),
             index_text({{"a", "diffusion_pytorch_model-00001-of-00001.safetensors"}}));
  EXPECT_EQ(Container::open(folder_.string()).tensors().size(), 1u);
}

TEST_F(MadeContainers, ReadFoldersWithoutAnIndex) {
  EXPECT_EQ(refuse(folder_.string()).code(), Errc::kNotFound);
  make("model-a.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  make("model-b.safetensors", braces(entry("b", "U8", "[4]", 0, 4)), 4);
  make("consolidated.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  EXPECT_EQ(Container::open(folder_.string()).tensors().size(), 2u);
  make("other.safetensors", braces(entry("b", "U8", "[4]", 0, 4)), 4);
  const Error error = refuse(folder_.string());
  EXPECT_EQ(error.code(), Errc::kCorrupt);
  EXPECT_NE(error.message().find("stands both in"), std::string::npos) << error.message();
}

TEST_F(MadeContainers, PreferTheNamesThatLoadersLookFor) {
  const auto first_file = [&] {
    return fs::path(Container::open(folder_.string()).files()[0].path).filename().string();
  };
  make("a.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  EXPECT_EQ(first_file(), "a.safetensors");
  make("model-00001-of-00001.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  EXPECT_EQ(first_file(), "model-00001-of-00001.safetensors");
  make("model.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  EXPECT_EQ(first_file(), "model.safetensors");
  EXPECT_EQ(Container::open(folder_.string()).files().size(), 1u);
}

TEST_F(MadeContainers, FollowLinksInsideTheFolderAndIntoItsCacheOnly) {
  // As the Hugging Face cache lies on disk.
  const std::string snapshot = at("models--x--y/snapshots/0123");
  make("models--x--y/blobs/abcd", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  fs::create_directories(snapshot + "/transformer");
  fs::create_symlink("../../blobs/abcd", snapshot + "/model.safetensors");
  fs::create_symlink("../../../blobs/abcd", snapshot + "/transformer/model.safetensors");
  EXPECT_EQ(Container::open(snapshot).tensors().size(), 1u);
  EXPECT_EQ(Container::open(snapshot + "/transformer").tensors().size(), 1u);
  write_file(at("models--x--y/blobs/cfg"), "{}");
  fs::create_symlink("../../blobs/cfg", snapshot + "/config.json");
  EXPECT_EQ(read_side_file(snapshot, "config.json"), "{}");
  EXPECT_EQ(read_side_file(snapshot, "absent.json"), "");

  make("elsewhere/secret.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  write_file(at("elsewhere/secret"), "secret");
  fs::create_directories(at("model"));
  fs::create_symlink("../elsewhere/secret.safetensors", at("model/model.safetensors"));
  fs::create_symlink("../elsewhere/secret", at("model/config.json"));
  EXPECT_EQ(refuse(at("model")).code(), Errc::kCorrupt);
  EXPECT_THROW(read_side_file(at("model"), "config.json"), Error);
  EXPECT_EQ(Container::open(at("model/model.safetensors")).tensors().size(), 1u);  // named by the user

  fs::remove(at("model/model.safetensors"));
  make("model/real.safetensors", braces(entry("a", "U8", "[4]", 0, 4)), 4);
  write_file(at("model/model.safetensors.index.json"), index_text({{"a", "alias.safetensors"}}));
  fs::create_symlink("real.safetensors", at("model/alias.safetensors"));
  EXPECT_EQ(Container::open(at("model")).tensors().size(), 1u);
}

TEST_F(MadeContainers, SayWhatIsThereInsteadOfAModel) {
  EXPECT_EQ(refuse(at("absent")).code(), Errc::kNotFound);
  write_file(at("pytorch_model.bin"), std::string("PK\x03\x04 and so on", 14));
  EXPECT_EQ(refuse(at("pytorch_model.bin")).code(), Errc::kUnsupported);
}

// The size of a 35B mixture of experts: 30 720 tensors in 24 files.
TEST_F(MadeContainers, OpenAThirtyFiveBillionCheckpointQuickly) {
  std::vector<std::pair<std::string, std::string>> map;
  for (int shard = 0; shard < 24; ++shard) {
    const std::string file = fmt::format("model-{:05}-of-00024.safetensors", shard + 1);
    std::string members;
    std::uint64_t at_byte = 0;
    for (int i = 0; i < 1280; ++i, at_byte += 1'000'000) {
      const std::string name = fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight_packed", shard, i);
      if (i > 0) members += ',';
      members += entry(name, "U8", "[1000,1000]", at_byte, at_byte + 1'000'000);
      map.emplace_back(name, file);
    }
    make(file, braces(members), at_byte);
  }
  write_file(at("model.safetensors.index.json"), index_text(map));
  const Outcome outcome = try_open(folder_.string());
  ASSERT_TRUE(outcome.container) << outcome.error->what();
  EXPECT_EQ(outcome.container->tensors().size(), 30'720u);
  EXPECT_LT(outcome.seconds, kManyTensorsSeconds);
  RecordProperty("seconds", std::to_string(outcome.seconds));
}

}  // namespace
}  // namespace tessera
