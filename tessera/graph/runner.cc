#include "tessera/graph/runner.h"

#include <algorithm>
#include <cstring>

namespace tessera::graph {

Runner::Runner(const Plan& plan, std::int64_t capacity)
    : plan_(plan), capacity_(capacity), arena_(static_cast<std::size_t>(capacity * plan.arena_row_bytes()), kCpu) {}

void Runner::fill_arena(std::byte with) { std::fill_n(arena_.data(), arena_.bytes(), with); }

Tensor Runner::tensor_of(Value v, std::int64_t rows) const {
  const Node& node = plan_.graph().node(v);
  const ValueType& type = plan_.graph().type(v);
  if (type.kind == ValueType::Kind::kParam) return node.param->vector;
  if (type.kind == ValueType::Kind::kState) return {};
  if (node.op != nullptr)
    return {type.dtype, {rows, type.width}, arena_, static_cast<std::size_t>(plan_.offset(v) * capacity_)};
  const auto found = bindings_->inputs.find(node.name);
  require(found != bindings_->inputs.end(), Errc::kNotFound, "input '{}' is not bound", node.name);
  const Tensor& t = found->second;
  require(t.dtype() == type.dtype && t.extent() == Extent{rows, type.width}, Errc::kShape,
          "input '{}' is {} {}; [{}, {}] {} is wanted", node.name, shape_text(t.shape()), dtype_name(t.dtype()), rows,
          type.width, dtype_name(type.dtype));
  return t;
}

void Runner::run_region(Stream& stream, const PlanStep& step) {
  std::vector<RowBuffer> buffers;
  std::vector<Tensor> held;
  for (const Value& v : step.buffers) {
    held.push_back(tensor_of(v, rows_));
    buffers.push_back({held.back().data(), plan_.graph().type(v).width, static_cast<int>(held.back().dtype())});
  }
  run_rows(stream, step.program, buffers, rows_);
}

void Runner::run_opaque(Stream& stream, const PlanStep& step) {
  const int n = step.nodes.front();
  const Node& node = plan_.graph().nodes()[static_cast<std::size_t>(n)];
  std::vector<Tensor> inputs, outputs;
  std::vector<const Param*> params;
  std::vector<State*> states;
  for (const Value& v : node.inputs) {
    inputs.push_back(tensor_of(v, rows_));
    params.push_back(plan_.graph().node(v).param);
    states.push_back(nullptr);
    Value first = v;  // of a state: the name stands at its first version
    if (plan_.graph().type(v).kind != ValueType::Kind::kState) continue;
    while (plan_.graph().node(first).op != nullptr)
      first = *std::find_if(plan_.graph().node(first).inputs.begin(), plan_.graph().node(first).inputs.end(),
                            [&](Value u) { return plan_.graph().type(u).kind == ValueType::Kind::kState; });
    const auto found = bindings_->states.find(plan_.graph().node(first).name);
    require(found != bindings_->states.end(), Errc::kNotFound, "state '{}' is not bound",
            plan_.graph().node(first).name);
    states.back() = found->second;
  }
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) outputs.push_back(tensor_of({n, o}, rows_));
  node.op->run({stream, node, inputs, params, states, outputs});
}

void Runner::run(Stream& stream, std::int64_t rows, const Bindings& bindings) {
  require(rows >= 0 && rows <= capacity_, Errc::kShape, "{} rows; there is room for {}", rows, capacity_);
  rows_ = rows;
  bindings_ = &bindings;
  for (const PlanStep& step : plan_.steps()) {
    const Node& node = plan_.graph().nodes()[static_cast<std::size_t>(step.nodes.front())];
    try {
      step.is_region() ? run_region(stream, step) : run_opaque(stream, step);
    } catch (Error& e) {
      e.add_note(fmt::format("running {}{}{}", node.op->name, node.path.empty() ? "" : " of ", node.path));
      throw;
    }
  }
  bindings_ = nullptr;
}

Tensor Runner::output(std::string_view name) const {
  for (const auto& [known, value] : plan_.graph().outputs())
    if (known == name && plan_.is_placed(value)) return tensor_of(value, rows_);
  fail(Errc::kNotFound, "the graph has no output '{}'", name);
}

}  // namespace tessera::graph
