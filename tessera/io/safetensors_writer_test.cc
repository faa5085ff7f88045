#include "tessera/io/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/io/container.h"
#include "tessera/io/sharded_writer.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Writing : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-writer-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

// The plan of a container's tensors, in an order that is not the file's.
std::vector<PlannedTensor> plan_of(const Container& container) {
  std::vector<PlannedTensor> plan;
  for (const StoredTensor& tensor : container.tensors()) plan.push_back({tensor.name, tensor.dtype, tensor.shape, ""});
  return plan;
}

std::vector<std::byte> some_bytes(std::uint64_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((seed = seed * 1664525u + 1013904223u) >> 24);
  return bytes;
}

// Law of the header. The files were written by safetensors 0.8.0.
TEST_F(Writing, GivesTheReferencesBytes) {
  for (const std::string name : {"containers/safetensors/ok_all_dtypes", "gguf/blocks", "gguf/gguf_decode",
                                 "containers/gguf/ok_blocks.expected"}) {
    const std::string reference = std::string(TESSERA_TEST_DATA) + "/" + name + ".safetensors";
    const Container container = Container::open(reference);
    const std::string again = at("again.safetensors");
    fs::remove(again);
    SafetensorsWriter writer(again, plan_of(container), container.files()[0].metadata);
    for (const StoredTensor& tensor : container.tensors()) writer.write(tensor.name, 0, container.read_all(tensor));
    writer.finish();
    const std::string expected = read_file(reference), found = read_file(again);
    EXPECT_EQ(found.size(), expected.size()) << name;
    EXPECT_TRUE(found == expected) << name;
  }
}

TEST_F(Writing, IsReadBackWhateverTheDtypeAndTheOrder) {
  std::vector<PlannedTensor> plan;
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    for (const std::int64_t cols : {0, 8, 24})
      plan.push_back({fmt::format("{}.{}\"\\\n", kDTypes[i].name, cols), static_cast<DType>(i), {3, cols}, ""});
  plan.push_back({"scalar", DType::kF32, {}, ""});
  SafetensorsWriter writer(at("f.safetensors"), plan, {{"format", "pt"}, {"quote\"", "line\nbreak"}});
  std::vector<std::thread> threads;  // each writes its share, in halves, back to front
  for (std::size_t part = 0; part < 3; ++part)
    threads.emplace_back([&, part] {
      for (std::size_t i = part; i < plan.size(); i += 3) {
        const std::vector<std::byte> bytes = some_bytes(planned_bytes(plan[i]), static_cast<unsigned>(i));
        const std::size_t half = bytes.size() / 2;
        writer.write(plan[i].name, half, std::span(bytes).subspan(half));
        writer.write(plan[i].name, 0, std::span(bytes).first(half));
      }
    });
  for (std::thread& thread : threads) thread.join();
  writer.finish();

  const Container container = Container::open(at("f.safetensors"));
  EXPECT_EQ(container.files()[0].metadata.at("quote\""), "line\nbreak");
  ASSERT_EQ(container.tensors().size(), plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const StoredTensor* tensor = container.find(plan[i].name);
    ASSERT_NE(tensor, nullptr) << plan[i].name;
    EXPECT_EQ(tensor->dtype, plan[i].dtype);
    EXPECT_EQ(tensor->shape, plan[i].shape);
    EXPECT_EQ(container.read_all(*tensor), some_bytes(planned_bytes(plan[i]), static_cast<unsigned>(i)));
  }
}

TEST_F(Writing, RefusesPlansThatNoFileCanHold) {
  const auto code = [&](std::vector<PlannedTensor> plan) {
    fs::remove(at("f.safetensors"));
    try {
      SafetensorsWriter writer(at("f.safetensors"), std::move(plan));
    } catch (const Error& e) {
      return e.code();
    }
    return Errc::kPeer;
  };
  EXPECT_EQ(code({{"a", DType::kU8, {1}, ""}, {"a", DType::kF32, {1}, ""}}), Errc::kInvalid);
  EXPECT_EQ(code({{"", DType::kU8, {1}, ""}}), Errc::kInvalid);
  EXPECT_EQ(code({{"__metadata__", DType::kU8, {1}, ""}}), Errc::kInvalid);
  EXPECT_EQ(code({{"a\xff", DType::kU8, {1}, ""}}), Errc::kInvalid);
  EXPECT_EQ(code({{"a", DType::kU8, {-1}, ""}}), Errc::kInvalid);
  EXPECT_EQ(code({{"a", DType::kF4, {1, 3}, ""}}), Errc::kInvalid);
  EXPECT_EQ(code({{"a", DType::kF32, {1ll << 40, 1ll << 40}, ""}}), Errc::kInvalid);
}

TEST_F(Writing, CountsTheBytes) {
  SafetensorsWriter writer(at("f.safetensors"), {{"a", DType::kU8, {4}, ""}});
  const std::vector<std::byte> bytes(5);
  EXPECT_THROW(writer.write("b", 0, {}), Error);
  EXPECT_THROW(writer.write("a", 0, bytes), Error);
  EXPECT_THROW(writer.write("a", 3, std::span(bytes).first(2)), Error);
  writer.write("a", 1, std::span(bytes).first(3));
  EXPECT_THROW(writer.finish(), Error);  // the first byte is missing
  writer.write("a", 0, std::span(bytes).first(1));
  writer.finish();
}

TEST(PlanShards, KeepsGroupsTogetherAndFillsInOrder) {
  const auto u8 = [](std::string name, std::int64_t bytes, std::string group) {
    return PlannedTensor{std::move(name), DType::kU8, {bytes}, std::move(group)};
  };
  using Shards = std::vector<std::uint32_t>;
  const std::vector<PlannedTensor> plan{u8("a.w", 60, "a"), u8("b.w", 30, "b"), u8("a.s", 10, "a"), u8("b.s", 10, "b"),
                                        u8("c", 200, ""),   u8("d", 1, ""),     u8("e", 0, "")};
  EXPECT_EQ(plan_shards(plan, 100), (Shards{0, 1, 0, 1, 2, 3, 3}));
  EXPECT_EQ(plan_shards(plan, 110), (Shards{0, 0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(plan_shards(plan, 1000), (Shards{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plan_shards({}, 1), Shards{});
}

TEST_F(Writing, WritesOneFileOrShardsWithAnIndex) {
  const std::vector<PlannedTensor> plan{
      {"a.weight", DType::kU8, {60}, "a"}, {"b.weight", DType::kU8, {70}, "b"}, {"a.scale", DType::kF32, {1}, "a"}};
  for (const std::uint64_t largest : {100u, 1000u}) {
    const std::string folder = at(std::to_string(largest));
    fs::create_directory(folder);
    ShardedWriter writer(folder, plan, {.largest_shard = largest});
    for (std::size_t i = 0; i < plan.size(); ++i)
      writer.write(plan[i].name, 0, some_bytes(planned_bytes(plan[i]), static_cast<unsigned>(i)));
    EXPECT_FALSE(fs::exists(folder + "/model.safetensors.index.json"));
    writer.finish();
    EXPECT_EQ(fs::exists(folder + "/model.safetensors.index.json"), largest == 100);
    EXPECT_EQ(writer.files(), largest == 100 ? (std::vector<std::string>{"model-00001-of-00002.safetensors",
                                                                         "model-00002-of-00002.safetensors"})
                                             : std::vector<std::string>{"model.safetensors"});
    const Container container = Container::open(folder);
    EXPECT_TRUE(container.warnings().empty());  // total_size is right
    for (std::size_t i = 0; i < plan.size(); ++i)
      EXPECT_EQ(container.read_all(*container.find(plan[i].name)),
                some_bytes(planned_bytes(plan[i]), static_cast<unsigned>(i)));
  }
  EXPECT_EQ(read_file(at("100/model.safetensors.index.json")),
            "{\n  \"metadata\": {\n    \"total_size\": 134\n  },\n  \"weight_map\": {\n"
            "    \"a.scale\": \"model-00001-of-00002.safetensors\",\n"
            "    \"a.weight\": \"model-00001-of-00002.safetensors\",\n"
            "    \"b.weight\": \"model-00002-of-00002.safetensors\"\n  }\n}\n");
}

}  // namespace
}  // namespace tessera
