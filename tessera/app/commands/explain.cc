#include "tessera/app/commands/explain.h"

#include <map>

#include "tessera/app/language_run.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/graph/ops/linear.h"
#include "tessera/kernels/gemm.h"
#include "tessera/weights/load_params.h"

namespace tessera::commands {
namespace {

struct Row {
  std::string module, weight, activations, kernel, dialect, why;
  Extent extent{};
  std::uint64_t bytes = 0;
};

// Why a weight is read as it is.
std::string reason_of(const PackedMatrix& w, const Module& module) {
  if (!module.is_quantized())
    return w.converted ? "dense f16: no bf16 holds its numbers, so they are multiplied as f32" : "dense on disk";
  if (w.converted)
    return fmt::format("blocks of {} columns fit no step of a kernel: decoded to f32", w.format.block.cols);
  return "as stored";
}

class Explain final : public app::Command {
 public:
  void visit(app::OptionVisitor& v) override {
    v.positional("MODEL", model_, "a model's folder");
    v.option("--compute", compute_, "TYPE", "of activations between operations: bf16 or f32");
  }

  app::Answer run(app::Session& session) override {
    require(compute_ == "bf16" || compute_ == "f32", Errc::kInvalid, "--compute {}: bf16 or f32", compute_);
    const DType compute = compute_ == "f32" ? DType::kF32 : DType::kBf16;
    Stream stream = session.open_stream();
    const Checkpoint checkpoint = Checkpoint::open(model_, {.strict = session.strict});
    for (const ContainerWarning& warning : checkpoint.warnings()) session.warn(warning);
    checkpoint.require_usable();
    const std::unique_ptr<models::LanguageModel> model = make_language_model(checkpoint);
    const std::vector<Param*> params = model->params();
    const std::vector<ParamSource> sources = find_param_sources(
        checkpoint, params, {.may_be_extra = [&](std::string_view name) { return model->may_be_extra(name); }});
    for (std::size_t i = 0; i < params.size(); ++i) sources_[params[i]] = sources[i];
    graph::Graph trunk, head;
    model->trunk(trunk, compute, models::HiddenStates::kLast);
    model->head(head, compute);
    std::vector<Row> rows;
    for (const graph::Graph* g : {&trunk, &head}) add_rows(stream, *g, rows);
    return answer(rows, stream);
  }

 private:
  void add_rows(const Stream& stream, const graph::Graph& g, std::vector<Row>& rows) const {
    for (const graph::Node& node : g.nodes()) {
      if (node.op != &graph::ops::linear) continue;
      const DType x = g.type(node.inputs[0]).dtype, y = node.outputs[0].dtype;
      for (const graph::Value& v : node.inputs) {
        const Param* param = g.node(v).param;
        if (param != nullptr && param->is_matrix()) rows.push_back(row_of(stream, *param, x, y));
      }
    }
  }

  Row row_of(const Stream& stream, const Param& param, DType x, DType y) const {
    const Module& module = *sources_.at(&param).module;
    const PackedMatrix w = packed_layout(module.reading.format, module.reading.extent);
    const GemmTile tile{.x_type = x, .m = 1, .w = &w, .y_type = y};
    return {.module = module.name,
            .weight = format_label(module.reading.format),
            .activations = std::string(dtype_name(x)),
            .kernel = std::string(gemm_impl_for(stream, tile).name),
            .dialect = std::string(module.reading.dialect->name),
            .why = reason_of(w, module),
            .extent = module.reading.extent,
            .bytes = static_cast<std::uint64_t>(w.panel_count() * w.panel_bytes())};
  }

  static app::Answer answer(const std::vector<Row>& rows, const Stream& stream) {
    app::Answer answer;
    Json list = JsonArray{};
    app::TextTable table({"module", "out x in", "weight", "x", "kernel", "bytes", "why"});
    std::uint64_t total = 0;
    for (const Row& r : rows) {
      total += r.bytes;
      table.add({r.module, fmt::format("{} x {}", r.extent.rows, r.extent.cols), r.weight, r.activations, r.kernel,
                 std::to_string(r.bytes), fmt::format("{}, {}", r.dialect, r.why)});
      list.push(JsonObject{{"module", r.module},
                           {"shape", JsonArray{r.extent.rows, r.extent.cols}},
                           {"weight", r.weight},
                           {"activations", r.activations},
                           {"kernel", r.kernel},
                           {"bytes", r.bytes},
                           {"dialect", r.dialect},
                           {"why", r.why}});
    }
    answer.json.set("tier", cpu_tier_name(stream.cpu_tier()));
    answer.json.set("gemms", std::move(list));
    answer.json.set("bytes_per_token", total);
    answer.text = table.text("lllllr") +
                  fmt::format("{} multiplications, {} of weights read for a token; CPU tier {}\n", rows.size(),
                              format_bytes(static_cast<double>(total)), cpu_tier_name(stream.cpu_tier()));
    return answer;
  }

  std::string model_, compute_ = "bf16";
  std::map<const Param*, ParamSource> sources_;
};

}  // namespace

std::unique_ptr<app::Command> make_explain() { return std::make_unique<Explain>(); }

}  // namespace tessera::commands
