#include "tessera/app/commands/doctor.h"

#include "tessera/base/error.h"
#include "tessera/kernels/cuda/quantize.h"
#include "tessera/kernels/quantize_job.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera::commands {
namespace {

class Doctor final : public app::Command {
 public:
  void visit(app::OptionVisitor&) override {}

  app::Answer run(app::Session& session) override {
    app::Answer answer;
    const Stream stream = session.open_stream();
    Json& cpu = answer.json.set("cpu", JsonObject{});
    cpu.set("processors", available_processors());
    cpu.set("best_tier", cpu_tier_name(best_cpu_tier()));
    cpu.set("tier", cpu_tier_name(stream.cpu_tier()));
    Json& gpu = answer.json.set("cuda", JsonObject{});
    gpu.set("devices", cuda::device_count());
    gpu.set("availability", cuda::availability());
    app::TextTable table({"part", "state"});
    table.add({"version", TESSERA_VERSION});
    table.add({"cpu", fmt::format("{} processors, tier {} (best here: {})", available_processors(),
                                  cpu_tier_name(stream.cpu_tier()), cpu_tier_name(best_cpu_tier()))});
    table.add({"cuda", cuda::availability()});
    Json& kernels = answer.json.set("kernels", JsonArray{});
    for (const QuantizeImpl& impl : quantize_impls()) {
      Json j;
      j.set("family", "quantize");
      j.set("name", impl.name);
      j.set("runs", impl.here(stream));
      kernels.push(std::move(j));
      table.add({fmt::format("quantize/{}", impl.name), impl.here(stream) ? "runs" : "not for this device and tier"});
    }
    for (const cuda::QuantizeVariant& variant : cuda::quantize_variants())
      table.add({fmt::format("quantize/cuda/{}", variant.name),
                 fmt::format("{}{}", variant.takes, variant.untested_here ? "; untested here" : "")});
    answer.json.set("version", TESSERA_VERSION);
    answer.text = table.text();
    return answer;
  }
};

}  // namespace

std::unique_ptr<app::Command> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace tessera::commands
