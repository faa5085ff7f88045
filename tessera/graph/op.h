// Op: one kind of node. A value; one file pair each in graph/ops/, which also has the function that adds such a node.
//
// An op that a region may fuse says how its rows are computed, as steps of a row program (kernels/row_program.h): that
// is its only implementation, whether it runs alone or fused. An opaque op runs a kernel.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/graph/attrs.h"
#include "tessera/tensor/tensor.h"
#include "tessera/weights/param.h"

namespace tessera::graph {

// What a value is. Rows: [rows, width], `rows` being the graph's one symbolic extent (tokens). A parameter is the
// model's own. A state is a version of something that outlives the run: nodes that take one and give the next are
// ordered, and never merged, dropped or run twice.
struct ValueType {
  enum class Kind : std::uint8_t { kRows, kParam, kState };
  Kind kind = Kind::kRows;
  DType dtype = DType::kF32;  // of rows: F32, BF16 or I32
  std::int64_t width = 0;     // of rows: elements; of a parameter that is a vector: its length
  bool operator==(const ValueType&) const = default;
};
std::string type_text(const ValueType& type);  // "[rows, 64] BF16"

struct Value {
  int node = -1, output = 0;
  auto operator<=>(const Value&) const = default;
};

// What outlives a run; an op knows the class of its own (ops/attention.h).
class State {
 public:
  virtual ~State() = default;
};

enum class Fusion : std::uint8_t { kOpaque, kRowwise };

struct Node;
class RowBuilder;

// What an opaque op runs on. Rows are tensors [rows, width]; outputs are allocated and hold anything.
struct OpCall {
  Stream& stream;
  const Node& node;
  std::span<const Tensor> inputs;        // of parameters and states: empty tensors
  std::span<const Param* const> params;  // by input; null where the input is no parameter
  std::span<State* const> states;        // by input; null likewise
  std::span<Tensor> outputs;
};

struct Op {
  std::string_view name;
  Fusion fusion = Fusion::kOpaque;
  // The types of the outputs. Throws kShape, naming what does not fit.
  std::vector<ValueType> (*infer)(std::span<const ValueType> inputs, std::span<const Param* const> params,
                                  const Attrs& attrs) = nullptr;
  void (*lower)(RowBuilder& rows, const Node& node, Value output) = nullptr;  // of kRowwise
  void (*run)(const OpCall& call) = nullptr;                                  // of kOpaque
};

struct Node {
  const Op* op = nullptr;  // null: an input, a parameter or a state
  Attrs attrs{};
  std::vector<Value> inputs{};
  std::vector<ValueType> outputs{};
  std::string name{};  // of an input, a parameter or a state
  const Param* param = nullptr;
  std::string path{};  // the module that made it: "layers.0.mlp"
};

std::span<const Op* const> all_ops();  // one per file of graph/ops/

}  // namespace tessera::graph
