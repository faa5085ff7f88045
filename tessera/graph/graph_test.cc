#include "tessera/graph/graph.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tessera/graph/ops/activation.h"
#include "tessera/graph/ops/add.h"
#include "tessera/graph/ops/multiply.h"
#include "tessera/graph/ops/rms_norm.h"
#include "tessera/graph/ops/slice.h"
#include "tessera/graph/plan.h"
#include "tessera/graph/runner.h"
#include "tessera/numeric/lanes.h"

namespace tessera::graph {
namespace {

Param vector_of(std::int64_t n) {
  Param p{.name = "norm.weight", .shape = {n}, .vector = Tensor(DType::kF32, {n})};
  for (std::int64_t i = 0; i < n; ++i) p.vector.as<float>()[i] = 1.f + static_cast<float>(i % 7) / 16.f;
  return p;
}

Tensor rows_of(DType type, std::int64_t rows, std::int64_t width) {
  Tensor t(type, {rows, width});
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const float x = static_cast<float>((i * 2654435761LL) % 1009) / 200.f - 2.5f;
    if (type == DType::kF32)
      t.as<float>()[i] = x;
    else
      t.as<std::uint16_t>()[i] = bits16(type, round_to(type, x));
  }
  return t;
}

// Like a block of a language model: two norms, a gate, a sum that is read outside, a value that nobody reads.
void write_block(Graph& g, const Param& norm, DType type) {
  const Value x = g.input("x", {.dtype = type, .width = 60});
  const Value n = rms_norm(g, x, g.param(norm), {.eps = 1e-5f, .group = 20});
  const Value gate = slice(g, n, {.begin = 0, .width = 30}), up = slice(g, n, {.begin = 30, .width = 30});
  const Value h = multiply(g, activation(g, gate, {"silu"}), up);
  activation(g, h, {"tanh"});
  g.set_output("sum", add(g, x, n));
  g.set_output("gated", h);
}

TEST(Graph, MakesEqualNodesOnce) {
  Graph g;
  const Param norm = vector_of(64);
  const Value x = g.input("x", {.dtype = DType::kBf16, .width = 64});
  const Value a = rms_norm(g, x, g.param(norm), {}), b = rms_norm(g, x, g.param(norm), {});
  EXPECT_EQ(a, b);
  EXPECT_NE(a, rms_norm(g, x, g.param(norm), {.eps = 1e-5f}));
}

TEST(Graph, SaysWhereAShapeDoesNotFit) {
  Graph g;
  const Value x = g.input("x", {.dtype = DType::kBf16, .width = 64}),
              y = g.input("y", {.dtype = DType::kBf16, .width = 32});
  const Graph::Scope outer(g, "layers.0"), inner(g, "mlp");
  try {
    add(g, x, y);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "add: x is [rows, 64] BF16, y is [rows, 32] BF16\n  while building add of layers.0.mlp");
  }
}

TEST(Plan, LeavesOutWhatNobodyReads) {
  Graph g;
  const Param norm = vector_of(20);
  write_block(g, norm, DType::kF32);
  const Plan plan(g, Execution::kNodeByNode);
  for (const PlanStep& step : plan.steps())
    EXPECT_NE(g.nodes()[static_cast<std::size_t>(step.nodes.front())].attrs.text(), "function=tanh");
}

// Law 8, forward: a region gives the bits of its nodes one by one, at any number of rows and threads; the arena starts
// as NaN, so that what is never written shows.
TEST(Region, EqualsNodeByNode) {
  for (const DType type : {DType::kF32, DType::kBf16}) {
    Graph g;
    const Param norm = vector_of(20);
    write_block(g, norm, type);
    const Plan fused(g), single(g, Execution::kNodeByNode);
    EXPECT_EQ(fused.steps().size(), 1u);
    EXPECT_GT(single.steps().size(), 5u);
    for (const int threads : {1, 3})
      for (const std::int64_t rows : {0, 1, 7}) {
        Stream stream(kCpu, threads);
        Runner a(fused, 8), b(single, 9);
        a.fill_arena(std::byte{0xff});
        b.fill_arena(std::byte{0xff});
        const Bindings bindings{.inputs = {{"x", rows_of(type, rows, 60)}}, .states = {}};
        a.run(stream, rows, bindings);
        b.run(stream, rows, bindings);
        for (const char* name : {"sum", "gated"}) {
          const Tensor u = a.output(name), v = b.output(name);
          ASSERT_EQ(u.bytes(), v.bytes());
          EXPECT_EQ(std::memcmp(u.data(), v.data(), u.bytes()), 0) << name;
          for (std::int64_t i = 0; i < u.count(); ++i) ASSERT_FALSE(is_nan(element_as_float(u, i)));
        }
      }
  }
}

}  // namespace
}  // namespace tessera::graph
