#include "tessera/io/gguf_architecture.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/base/error.h"

namespace tessera {
namespace {

TEST(GgufArchitecture, NamesTensorsAsTransformersDoes) {
  const GgufArchitecture& llama = find_gguf_architecture("llama");
  EXPECT_EQ(hf_name(llama, "token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(hf_name(llama, "blk.29.ffn_down.weight"), "model.layers.29.mlp.down_proj.weight");
  EXPECT_EQ(hf_name(llama, "blk.3.attn_q.bias"), "model.layers.3.self_attn.q_proj.bias");
  EXPECT_EQ(hf_name(llama, "blk.3.attn_q.scale"), "model.layers.3.self_attn.q_proj.scale");
  EXPECT_EQ(hf_name(llama, "blk.3.attn_q.input_scale"), "model.layers.3.self_attn.q_proj.input_scale");
}

TEST(GgufArchitecture, HasNoNameForWhatItDoesNotKnow) {
  const GgufArchitecture& llama = find_gguf_architecture("llama");
  for (const char* name : {"blk.3.attn_q", "blk..attn_q.weight", "blk.03.attn_q.weight", "blk.-1.attn_q.weight",
                           "blk.x.attn_q.weight", "blk.99999999999999999999.attn_q.weight", "attn_q.weight",
                           "blk.3.attn_q_norm.weight", "output_norm.bias", "blk.3.attn_q.weights", ".weight", ""})
    EXPECT_FALSE(hf_name(llama, name)) << name;
  EXPECT_TRUE(hf_name(find_gguf_architecture("qwen3"), "blk.3.attn_q_norm.weight"));
}

TEST(GgufArchitecture, NamesAreDistinct) {
  for (const GgufArchitecture* architecture : all_gguf_architectures()) {
    std::set<std::string_view> gguf, hf;
    for (const GgufName& name : architecture->tensors) {
      EXPECT_TRUE(gguf.insert(name.gguf).second && hf.insert(name.hf).second) << name.gguf;
      EXPECT_EQ(gguf_name_of(name, 0, "") != name.gguf, name.hf.find("{}") != std::string_view::npos) << name.gguf;
    }
  }
}

TEST(GgufArchitecture, UnknownOnesAreRefusedWithTheKnown) {
  try {
    find_gguf_architecture("mamba");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::kUnsupported);
    EXPECT_NE(std::string(e.what()).find("'mamba'"), std::string::npos);
    for (const GgufArchitecture* architecture : all_gguf_architectures())
      EXPECT_NE(std::string(e.what()).find(architecture->name), std::string::npos);
  }
}

// The converter stores reshape(heads, 2, D/2).swapaxes(1, 2): stored row h*D + 2*i + s holds row h*D + s*D/2 + i.
TEST(StoredRow, UndoesTheConvertersReshape) {
  constexpr std::int64_t kWidth = 6, kHeads = 3;
  std::set<std::int64_t> seen;
  for (std::int64_t h = 0; h < kHeads; ++h)
    for (std::int64_t s = 0; s < 2; ++s)
      for (std::int64_t i = 0; i < kWidth / 2; ++i) {
        const std::int64_t row = h * kWidth + s * kWidth / 2 + i;
        EXPECT_EQ(stored_row(GgufRows::kPairsOfHalves, kWidth, row), h * kWidth + 2 * i + s);
        EXPECT_EQ(stored_row(GgufRows::kAsStored, kWidth, row), row);
        seen.insert(stored_row(GgufRows::kPairsOfHalves, kWidth, row));
      }
  EXPECT_EQ(seen.size(), 18u);
}

}  // namespace
}  // namespace tessera
