#include "tessera/graph/graph.h"

#include "tessera_registry/ops.inc"

namespace tessera::graph {
namespace {

std::string values_text(std::span<const Value> values) {
  std::string text;
  for (const Value& v : values)
    text += fmt::format("{}%{}{}", text.empty() ? "" : ", ", v.node, v.output == 0 ? "" : fmt::format(".{}", v.output));
  return text;
}

}  // namespace

std::span<const Op* const> all_ops() { return kRegistry_ops; }

std::string type_text(const ValueType& type) {
  if (type.kind == ValueType::Kind::kState) return "state";
  if (type.kind == ValueType::Kind::kParam) return "parameter";
  return fmt::format("[rows, {}] {}", type.width, dtype_name(type.dtype));
}

Value Graph::place(Node node, std::string key) {
  const auto [found, is_new] = made_.emplace(std::move(key), static_cast<int>(nodes_.size()));
  if (is_new) nodes_.push_back(std::move(node));
  return {found->second, 0};
}

Value Graph::input(std::string name, ValueType type) {
  std::string key = "input " + name;
  return place({.outputs = {type}, .name = std::move(name)}, std::move(key));
}

Value Graph::param(const Param& param) {
  const ValueType type{.kind = ValueType::Kind::kParam, .width = param.shape.empty() ? 0 : param.shape.back()};
  return place({.outputs = {type}, .name = param.name, .param = &param},
               fmt::format("param {}", static_cast<const void*>(&param)));
}

Value Graph::state(std::string name) {
  std::string key = "state " + name;
  return place({.outputs = {{.kind = ValueType::Kind::kState}}, .name = std::move(name)}, std::move(key));
}

Value Graph::add(const Op& op, Attrs attrs, std::vector<Value> inputs) {
  std::vector<ValueType> types;
  std::vector<const Param*> params;
  for (const Value& v : inputs) {
    types.push_back(type(v));
    params.push_back(node(v).param);
  }
  Node made{.op = &op, .attrs = std::move(attrs), .inputs = std::move(inputs), .path = path_};
  try {
    made.outputs = op.infer(types, params, made.attrs);
  } catch (Error& e) {
    e.add_note(fmt::format("building {} of {}", op.name, path_.empty() ? "the model" : path_));
    throw;
  }
  std::string key = fmt::format("{} ({}) {}", op.name, values_text(made.inputs), made.attrs.text());
  return place(std::move(made), std::move(key));
}

void Graph::set_output(std::string name, Value value) { outputs_.emplace_back(std::move(name), value); }

std::string Graph::text() const {
  std::string text;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    text += fmt::format("%{} = ", i);
    text += n.op == nullptr ? n.name : fmt::format("{}({})", n.op->name, values_text(n.inputs));
    if (!n.attrs.text().empty()) text += " {" + n.attrs.text() + "}";
    text += ": " + type_text(n.outputs[0]) + (n.path.empty() ? "\n" : "  # " + n.path + "\n");
  }
  return text;
}

Graph::Scope::Scope(Graph& graph, std::string_view name) : graph_(graph), length_(graph.path_.size()) {
  graph_.path_ += fmt::format("{}{}", graph_.path_.empty() ? "" : ".", name);
}
Graph::Scope::~Scope() { graph_.path_.resize(length_); }

}  // namespace tessera::graph
