#include "tessera/graph/plan.h"

#include <algorithm>
#include <set>

#include "tessera/graph/row_builder.h"

namespace tessera::graph {
namespace {

bool makes_state(const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [](const ValueType& t) { return t.kind == ValueType::Kind::kState; });
}

}  // namespace

Plan::Plan(const Graph& graph, Execution execution) : graph_(graph) {
  make_steps(needed_nodes(), execution);
  place_values();
}

std::int64_t Plan::row_bytes(Value v) const {
  const ValueType& type = graph_.type(v);
  return ceil_div(type.width * dtype_bits(type.dtype) / 8, 64) * 64;
}

std::vector<int> Plan::needed_nodes() const {
  const std::vector<Node>& nodes = graph_.nodes();
  std::vector<bool> needed(nodes.size(), false);
  for (const auto& [name, value] : graph_.outputs()) needed[static_cast<std::size_t>(value.node)] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].op != nullptr && makes_state(nodes[i])) needed[i] = true;
    if (!needed[i]) continue;
    for (const Value& v : nodes[i].inputs) needed[static_cast<std::size_t>(v.node)] = true;
  }
  std::vector<int> list;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (needed[i] && nodes[i].op != nullptr) list.push_back(static_cast<int>(i));
  return list;
}

// Nodes are in an order in which they can run. Row-wise nodes that follow each other make a region.
void Plan::make_steps(const std::vector<int>& nodes, Execution execution) {
  const auto fusion = [&](int n) { return graph_.nodes()[static_cast<std::size_t>(n)].op->fusion; };
  std::vector<std::vector<int>> groups;
  for (const int n : nodes) {
    const bool joins = execution == Execution::kFused && !groups.empty() && fusion(n) == Fusion::kRowwise &&
                       fusion(groups.back().back()) == Fusion::kRowwise;
    if (joins)
      groups.back().push_back(n);
    else
      groups.push_back({n});
  }
  std::map<Value, std::set<std::size_t>> readers;  // by group; the outputs' reader is behind the last
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int n : groups[g])
      for (const Value& v : graph_.nodes()[static_cast<std::size_t>(n)].inputs) readers[v].insert(g);
  for (const auto& [name, value] : graph_.outputs()) readers[value].insert(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    PlanStep step{.nodes = groups[g], .buffers = {}};
    if (fusion(groups[g].front()) == Fusion::kRowwise) {
      std::set<Value> stored;
      for (const auto& [value, groups_of] : readers)
        if (std::binary_search(groups[g].begin(), groups[g].end(), value.node) && *groups_of.rbegin() > g)
          stored.insert(value);
      RowBuilder rows(graph_, groups[g], stored);
      step.program = rows.take_program();
      step.buffers = rows.buffers();
    }
    steps_.push_back(std::move(step));
  }
}

// First fit, in the order in which values are made.
void Plan::place_values() {
  struct Life {
    std::size_t begin, end;
  };
  std::map<Value, Life> lives;
  const auto touch = [&](Value v, std::size_t step) {
    if (graph_.type(v).kind != ValueType::Kind::kRows || graph_.node(v).op == nullptr) return;
    const auto [at, is_new] = lives.try_emplace(v, Life{step, step});
    at->second.end = step;
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].is_region()) {
      for (const Value& v : steps_[s].buffers) touch(v, s);
      continue;
    }
    const int n = steps_[s].nodes.front();
    const Node& node = graph_.nodes()[static_cast<std::size_t>(n)];
    for (const Value& v : node.inputs) touch(v, s);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) touch({n, o}, s);
  }
  for (const auto& [name, value] : graph_.outputs())
    if (lives.count(value) != 0) lives[value].end = steps_.size();
  std::vector<std::pair<Value, Life>> order(lives.begin(), lives.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.begin != b.second.begin ? a.second.begin < b.second.begin : a.first < b.first;
  });
  for (const auto& [value, life] : order) {
    const std::int64_t bytes = row_bytes(value);
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // of values that live at the same time
    for (const auto& [other, at] : offsets_)
      if (lives.at(other).begin <= life.end && life.begin <= lives.at(other).end)
        taken.emplace_back(at, at + row_bytes(other));
    std::sort(taken.begin(), taken.end());
    std::int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - at >= bytes) break;
      at = std::max(at, end);
    }
    offsets_[value] = at;
    arena_ = std::max(arena_, at + bytes);
  }
}

}  // namespace tessera::graph
