// RowBuilder: turns nodes that may be fused into one row program. Values that the region makes live in registers;
// values from outside are loaded when they are first read, and those that others read are stored.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/kernels/row_program.h"

namespace tessera::graph {

class RowBuilder final {
 public:
  // `nodes`: of the region, in order. `stored`: the outputs that are read outside of it.
  RowBuilder(const Graph& graph, std::span<const int> nodes, const std::set<Value>& stored);

  // For Op::lower. Registers are offsets in the frame.
  std::int64_t read(Value v);                          // the register that holds it
  std::int64_t define(Value v);                        // a new register for it
  std::int64_t temporary(std::int64_t width);          // until the node's end
  void alias(Value v, Value of, std::int64_t column);  // v is columns of another value: no register, no work
  void add(RowStep step) { program_.steps.push_back(step); }
  const ValueType& type(Value v) const { return graph_.type(v); }
  static int rounding(DType type) { return static_cast<int>(type); }

  // The program, and the value of each of its buffers.
  RowProgram take_program();
  const std::vector<Value>& buffers() const { return buffers_; }

 private:
  struct Place {
    std::int64_t at = 0, width = 0;
  };
  std::int64_t allocate(std::int64_t width);
  void release(std::int64_t at, std::int64_t width);
  void drop(Value v);
  void finish_node(const Node& node, int index);
  int buffer_of(Value v);
  Value root_of(Value v) const;
  std::int64_t column_of(Value v) const;

  const Graph& graph_;
  RowProgram program_;
  std::vector<Value> buffers_;
  std::map<Value, Place> registers_;
  std::map<Value, std::pair<Value, std::int64_t>> aliases_;
  std::map<Value, int> uses_left_;  // by roots
  std::vector<Place> free_, temporaries_;
};

}  // namespace tessera::graph
