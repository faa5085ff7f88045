// Plan: in which steps a graph is run, and where its values lie. A step is an opaque node, or a region: a run of nodes
// that may be fused, as one row program. Without fusing every node is a step of its own, which is the debugger's way;
// law (8): both give the same bits.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/kernels/row_program.h"

namespace tessera::graph {

enum class Execution : std::uint8_t { kFused, kNodeByNode };

struct PlanStep {
  std::vector<int> nodes;      // one, unless it is a region
  RowProgram program{};        // of a region
  std::vector<Value> buffers;  // of a region: what its loads and stores name
  bool is_region() const { return !program.steps.empty(); }
};

class Plan final {
 public:
  // The graph must outlive the plan. Nodes that no output and no state needs are left out.
  explicit Plan(const Graph& graph, Execution execution = Execution::kFused);

  const Graph& graph() const { return graph_; }
  const std::vector<PlanStep>& steps() const { return steps_; }
  // Bytes of a value's row, and how far its rows lie behind the arena's start, for each row of capacity; so that values
  // whose lives do not touch share memory. Rows start on 64 bytes.
  std::int64_t row_bytes(Value v) const;
  std::int64_t offset(Value v) const { return offsets_.at(v); }
  bool is_placed(Value v) const { return offsets_.count(v) != 0; }
  std::int64_t arena_row_bytes() const { return arena_; }

 private:
  std::vector<int> needed_nodes() const;
  void make_steps(const std::vector<int>& nodes, Execution execution);
  void place_values();

  const Graph& graph_;
  std::vector<PlanStep> steps_;
  std::map<Value, std::int64_t> offsets_;
  std::int64_t arena_ = 0;
};

}  // namespace tessera::graph
