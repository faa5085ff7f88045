// Graph: what a model computes, as nodes in the order in which they were written. Equal nodes are one: an expression
// written three times is computed once (q, k and v share what they read).
//
//   Graph g;
//   const Value x = g.input("x", {.dtype = DType::kBf16, .width = 64});
//   g.set_output("y", add(g, x, rms_norm(g, x, g.param(norm), {.eps = 1e-5f})));
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/graph/op.h"

namespace tessera::graph {

class Graph final {
 public:
  Value input(std::string name, ValueType type);  // of rows
  Value param(const Param& param);                // must outlive the graph
  Value state(std::string name);                  // its first version
  // Throws what op.infer throws, with the path of the module in a note.
  Value add(const Op& op, Attrs attrs, std::vector<Value> inputs);  // its first output; the others follow
  void set_output(std::string name, Value value);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::pair<std::string, Value>>& outputs() const { return outputs_; }
  const Node& node(Value v) const { return nodes_[static_cast<std::size_t>(v.node)]; }
  const ValueType& type(Value v) const { return node(v).outputs[static_cast<std::size_t>(v.output)]; }
  std::string text() const;  // a line a node, for people

  // While it lives, nodes are made on behalf of a module.
  class Scope final {
   public:
    Scope(Graph& graph, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    std::size_t length_;
  };

 private:
  Value place(Node node, std::string key);

  std::vector<Node> nodes_;
  std::map<std::string, int, std::less<>> made_;  // key -> node
  std::vector<std::pair<std::string, Value>> outputs_;
  std::string path_;
};

}  // namespace tessera::graph
