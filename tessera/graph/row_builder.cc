#include "tessera/graph/row_builder.h"

#include <algorithm>

namespace tessera::graph {

RowBuilder::RowBuilder(const Graph& graph, std::span<const int> nodes, const std::set<Value>& stored) : graph_(graph) {
  // Uses of what a slice names count for the value that it is a slice of, so slices are known first.
  const std::set<int> own(nodes.begin(), nodes.end());
  for (const int n : nodes)
    for (const Value& v : graph.nodes()[static_cast<std::size_t>(n)].inputs) ++uses_left_[v];
  for (const int n : nodes) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(n)];
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      const Value v{n, o};
      node.op->lower(*this, node, v);
      if (stored.count(v) == 0) continue;
      const RowStep store{.op = RowOp::kStore, .buffer = buffer_of(v), .width = type(v).width, .a = read(v)};
      add(store);
    }
    finish_node(node, n);
  }
}

Value RowBuilder::root_of(Value v) const {
  const auto found = aliases_.find(v);
  return found == aliases_.end() ? v : found->second.first;
}
std::int64_t RowBuilder::column_of(Value v) const {
  const auto found = aliases_.find(v);
  return found == aliases_.end() ? 0 : found->second.second;
}

int RowBuilder::buffer_of(Value v) {
  const auto found = std::find(buffers_.begin(), buffers_.end(), v);
  if (found != buffers_.end()) return static_cast<int>(found - buffers_.begin());
  buffers_.push_back(v);
  return static_cast<int>(buffers_.size()) - 1;
}

std::int64_t RowBuilder::allocate(std::int64_t width) {
  const std::int64_t floats = register_floats(width);
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (free_[i].width < floats) continue;
    const std::int64_t at = free_[i].at;
    free_[i] = {at + floats, free_[i].width - floats};
    if (free_[i].width == 0) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    return at;
  }
  program_.frame += floats;
  return program_.frame - floats;
}

void RowBuilder::release(std::int64_t at, std::int64_t width) {
  const auto next = std::find_if(free_.begin(), free_.end(), [&](const Place& p) { return p.at > at; });
  const auto here = free_.insert(next, {at, register_floats(width)});
  const auto join = [&](std::vector<Place>::iterator a) {  // with what follows it
    const auto b = a + 1;
    if (b == free_.end() || a->at + a->width != b->at) return;
    a->width += b->width;
    free_.erase(b);
  };
  join(here);
  if (here != free_.begin()) join(here - 1);
}

std::int64_t RowBuilder::read(Value v) {
  const Value root = root_of(v);
  const auto found = registers_.find(root);
  if (found != registers_.end()) return found->second.at + column_of(v);
  const ValueType& from = type(root);
  const bool is_param = from.kind == ValueType::Kind::kParam;
  const std::int64_t at = define(root);
  RowStep load{.op = is_param ? RowOp::kLoadVector : RowOp::kLoad, .width = from.width, .d = at};
  load.buffer = buffer_of(root);
  add(load);
  return at + column_of(v);
}

std::int64_t RowBuilder::define(Value v) {
  const std::int64_t width = type(v).width, at = allocate(width);
  registers_[v] = {at, width};
  return at;
}

std::int64_t RowBuilder::temporary(std::int64_t width) {
  const std::int64_t at = allocate(width);
  temporaries_.push_back({at, width});
  return at;
}

void RowBuilder::alias(Value v, Value of, std::int64_t column) {
  const Value root = root_of(of);
  aliases_[v] = {root, column + column_of(of)};
  uses_left_[root] += uses_left_[v];
}

void RowBuilder::drop(Value v) {
  const auto found = registers_.find(v);
  if (found == registers_.end()) return;
  release(found->second.at, found->second.width);
  registers_.erase(found);
}

void RowBuilder::finish_node(const Node& node, int index) {
  for (const Place& p : temporaries_) release(p.at, p.width);
  temporaries_.clear();
  for (const Value& v : node.inputs)
    if (--uses_left_[root_of(v)] == 0) drop(root_of(v));
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
    if (uses_left_[{index, o}] == 0) drop({index, o});
}

RowProgram RowBuilder::take_program() { return std::move(program_); }

}  // namespace tessera::graph
