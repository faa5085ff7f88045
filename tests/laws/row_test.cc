// Law 1 on the CPU: a token's logits are a function of the tokens before it, bitwise: alone or in any batch, prefilled
// at once, in pieces or token by token, after a prefix that was read anew or shared, on 1 to 8 threads, fused or node
// by node, on every tier.
#include <gtest/gtest.h>

#include <cstring>

#include "tessera/infer/language_engine.h"
#include "tessera/numeric/philox.h"

namespace tessera {
namespace {

using Ids = std::vector<std::int32_t>;
using Rows = std::vector<std::vector<float>>;  // logits after each token

struct Variant {
  std::string model;
  DType compute;
};

std::string variant_name(const testing::TestParamInfo<Variant>& v) {
  std::string name =
      v.param.model.substr(v.param.model.rfind('/') + 1) + "_" + std::string(dtype_name(v.param.compute));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

Ids random_ids(std::int64_t count, std::uint64_t stream) {
  Ids ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(
        static_cast<std::int32_t>(random_word({.seed = 3, .stream = stream}, static_cast<std::uint64_t>(i)) % 128));
  return ids;
}

Rows read_in_pieces(LanguageEngine& engine, Sequence& sequence, const Ids& ids,
                    const std::vector<std::int64_t>& pieces) {
  Rows rows;
  std::size_t begin = 0;
  for (const std::int64_t piece : pieces) {
    const auto count = std::min(static_cast<std::size_t>(piece), ids.size() - begin);
    engine.read(sequence, std::span(ids).subspan(begin, count), Wanted::kAll,
                [&](std::int64_t, std::span<const float> logits) { rows.emplace_back(logits.begin(), logits.end()); });
    begin += count;
  }
  return rows;
}

void expect_same(const Rows& a, const Rows& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)), 0) << what << ", token " << i;
}

class Row : public testing::TestWithParam<Variant> {
 protected:
  static constexpr std::int64_t kLength = 150;  // three pages
  Row() : checkpoint_(Checkpoint::open(std::string(TESSERA_TEST_DATA) + "/checkpoints/" + GetParam().model)) {}
  EngineOptions options() const { return {.compute = GetParam().compute, .cache_tokens = 1024, .batch_rows = 160}; }
  Rows whole(LanguageEngine& engine) const {
    Sequence sequence = engine.start();
    return read_in_pieces(engine, sequence, ids_, {kLength});
  }
  Checkpoint checkpoint_;
  Ids ids_ = random_ids(kLength, 1);
};

TEST_P(Row, DoesNotDependOnHowAPromptIsCut) {
  Stream stream(kCpu, 2);
  LanguageEngine engine(stream, checkpoint_, options());
  const Rows expected = whole(engine);
  for (const std::vector<std::int64_t>& cut :
       {std::vector<std::int64_t>(kLength, 1), {1, 149}, {64, 64, 22}, {63, 2, 85}, {7, 100, 9, 34}}) {
    Sequence sequence = engine.start();
    expect_same(read_in_pieces(engine, sequence, ids_, cut), expected, "cut");
  }
}

TEST_P(Row, DoesNotDependOnTheBatch) {
  Stream stream(kCpu, 2);
  LanguageEngine engine(stream, checkpoint_, options());
  const Rows expected = whole(engine);
  Sequence mine = engine.start(), other = engine.start(), third = engine.start();
  const Ids noise = random_ids(90, 2);
  engine.read(other, std::span(noise).first(70), Wanted::kNone, {});
  Rows rows;
  for (std::size_t begin = 0; begin < ids_.size();) {
    const std::size_t count = std::min<std::size_t>(begin < 100 ? 50 : 1, ids_.size() - begin);
    const std::vector<LanguageEngine::Piece> pieces{{&third, std::span(noise).subspan(begin % 60, 3), Wanted::kNone},
                                                    {&mine, std::span(ids_).subspan(begin, count), Wanted::kAll},
                                                    {&other, std::span(noise).subspan(begin % 80, 1), Wanted::kLast}};
    engine.step(pieces, [&](std::size_t piece, std::int64_t, std::span<const float> logits) {
      if (piece == 1) rows.emplace_back(logits.begin(), logits.end());
    });
    begin += count;
  }
  expect_same(rows, expected, "batch");
}

TEST_P(Row, DoesNotDependOnASharedPrefix) {
  Stream stream(kCpu, 2);
  LanguageEngine engine(stream, checkpoint_, options());
  const Rows expected = whole(engine);
  Sequence first = engine.start();
  engine.read(first, ids_, Wanted::kNone, {});
  Sequence second = first.fork(128);
  const Ids rest(ids_.begin() + 128, ids_.end());
  expect_same(read_in_pieces(engine, second, rest, {kLength}), Rows(expected.begin() + 128, expected.end()), "prefix");
}

TEST_P(Row, DoesNotDependOnThreadsOrOnFusing) {
  Stream one(kCpu, 1);
  LanguageEngine reference(one, checkpoint_, options());
  const Rows expected = whole(reference);
  for (const int threads : {2, 3, 5, 8}) {
    Stream stream(kCpu, threads);
    LanguageEngine engine(stream, checkpoint_, options());
    expect_same(whole(engine), expected, "threads");
  }
  EngineOptions node_by_node = options();
  node_by_node.execution = graph::Execution::kNodeByNode;
  LanguageEngine engine(one, checkpoint_, node_by_node);
  expect_same(whole(engine), expected, "node by node");
}

TEST_P(Row, DoesNotDependOnTheTier) {
  Stream best(kCpu, 2);
  LanguageEngine reference(best, checkpoint_, options());
  const Rows expected = whole(reference);
  for (int tier = 0; tier < static_cast<int>(best_cpu_tier()); ++tier) {
    Stream stream(kCpu, 2);
    stream.set_cpu_tier(static_cast<CpuTier>(tier));
    LanguageEngine engine(stream, checkpoint_, options());
    expect_same(whole(engine), expected, cpu_tier_name(static_cast<CpuTier>(tier)).data());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Row,
                         testing::Values(Variant{"bf16/llama", DType::kBf16}, Variant{"bf16/llama", DType::kF32},
                                         Variant{"quantized/llmcompressor-llama-NVFP4", DType::kBf16},
                                         Variant{"quantized/llmcompressor-llama_tied-MXFP8", DType::kBf16},
                                         Variant{"quantized/llmcompressor-llama_wide-FP8_BLOCK", DType::kBf16},
                                         Variant{"quantized/modelopt-qwen3-FP8-kv", DType::kBf16},
                                         Variant{"quantized/quark-llama-mxfp4", DType::kF32}),
                         variant_name);

}  // namespace
}  // namespace tessera
