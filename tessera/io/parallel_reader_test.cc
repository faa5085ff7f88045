#include "tessera/io/parallel_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/io/sharded_writer.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::byte byte_at(std::size_t tensor, std::uint64_t i) { return static_cast<std::byte>(i * 31 + i / 251 + tensor * 7); }

// Two shards of odd-sized tensors, from nothing to some hundred requests.
class Reading : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-reader-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::vector<PlannedTensor> plan;
    for (const std::int64_t bytes : {1, 0, 4095, 4096, 4097, 1'000'003, 17, 700'000, 3'000'001, 5})
      plan.push_back({fmt::format("t{}", plan.size()), DType::kU8, {bytes}, ""});
    ShardedWriter writer(folder_.string(), plan, {.largest_shard = 2'000'000});
    for (std::size_t t = 0; t < plan.size(); ++t) {
      std::vector<std::byte> bytes(planned_bytes(plan[t]));
      for (std::uint64_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(t, i);
      writer.write(plan[t].name, 0, bytes);
    }
    writer.finish();
    container_ = Container::open(folder_.string());
  }
  void TearDown() override { fs::remove_all(folder_); }
  const Container& container() const { return *container_; }
  const StoredTensor& tensor(std::size_t t) const { return *container().find(fmt::format("t{}", t)); }
  // Out of the page cache, so that direct reads are what is tested.
  void forget() const {
    for (const ContainerFile& file : container().files()) File::open(file.path).drop_cache();
  }

  fs::path folder_;
  std::optional<Container> container_;
};

TEST_F(Reading, DeliversEachByteOnceWhateverTheOptions) {
  for (const ReadCache cache : {ReadCache::kAuto, ReadCache::kDirect, ReadCache::kBuffered})
    for (const std::uint64_t request : {1u, 8192u, 1u << 20, 64u << 20})
      for (const int threads : {1, 5}) {
        forget();
        std::vector<TensorRange> ranges;
        std::vector<std::vector<std::byte>> buffers;
        std::vector<std::size_t> source;
        for (std::size_t t = 0; t < 10; ++t) {
          ranges.push_back(whole(tensor(t)));
          source.push_back(t);
        }
        ranges.push_back({&tensor(8), 999'999, 1234});  // overlaps a whole tensor
        source.push_back(8);
        std::vector<std::atomic<std::uint64_t>> counts(ranges.size());
        for (const TensorRange& range : ranges) buffers.emplace_back(range.bytes);
        read_parallel(container(), ranges,
                      [&](std::size_t index, std::uint64_t begin, std::span<const std::byte> bytes) {
                        counts[index] += bytes.size();
                        std::copy(bytes.begin(), bytes.end(),
                                  buffers[index].begin() + static_cast<std::ptrdiff_t>(begin));
                      },
                      {.threads = threads, .request_bytes = request, .cache = cache});
        for (std::size_t r = 0; r < ranges.size(); ++r) {
          EXPECT_EQ(counts[r], ranges[r].bytes);
          for (std::uint64_t i = 0; i < buffers[r].size(); ++i)
            ASSERT_EQ(buffers[r][i], byte_at(source[r], ranges[r].begin + i)) << r << " at " << i;
        }
      }
}

TEST_F(Reading, FillsBuffers) {
  std::vector<std::byte> first(tensor(5).bytes), second(100);
  const TensorRange ranges[] = {whole(tensor(5)), {&tensor(8), 7, 100}};
  const std::span<std::byte> into[] = {first, second};
  read_parallel_into(container(), ranges, into);
  EXPECT_EQ(first, container().read_all(tensor(5)));
  EXPECT_EQ(second[99], byte_at(8, 106));
  const std::span<std::byte> wrong[] = {second, first};
  EXPECT_THROW(read_parallel_into(container(), ranges, wrong), Error);
}

TEST_F(Reading, RefusesRangesBeyondATensor) {
  const TensorRange range{&tensor(0), 0, 2};
  EXPECT_THROW(read_parallel(container(), std::span(&range, 1), [](auto...) {}), Error);
}

TEST_F(Reading, StopsAtTheFirstException) {
  const TensorRange range = whole(tensor(8));
  std::atomic<int> calls{0};
  const auto arrive = [&](std::size_t, std::uint64_t, std::span<const std::byte>) {
    ++calls;
    fail(Errc::kInvalid, "enough");
  };
  EXPECT_THROW(read_parallel(container(), std::span(&range, 1), arrive, {.threads = 2, .request_bytes = 4096}), Error);
  EXPECT_LE(calls, 2);
}

TEST_F(Reading, SaysThatAFileWasCut) {
  const StoredTensor& last = tensor(8);
  fs::resize_file(container().files()[last.file].path, last.offset + 5000);
  const TensorRange range = whole(last);
  try {
    read_parallel(container(), std::span(&range, 1), [](auto...) {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::kResource);
    EXPECT_NE(e.message().find("cut after it was opened"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
