// Weights that were quantized together with another tensor: without it they are not their layer's.
#include <gtest/gtest.h>

#include "tessera/weights/convert_checkpoint.h"
#include "tessera/weights/dequantize_checkpoint.h"
#include "tests/regressions/modules.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::ModelBuilder;

// Model Optimizer's AWQ and SVDQuant (spec 1.2): pre_quant_scale multiplies activations, the product of svdquant_lora_b
// and _a is added. `inspect` and loading give the codes as they are; whoever writes the weight alone would lose the
// rest.
TEST(Companions, AreNotLostInSilence) {
  for (const std::string suffix : {"pre_quant_scale", "svdquant_lora_a", "svdquant_lora_b"}) {
    const test::TemporaryFolder folder;
    const std::string m = "model.layers.0.mlp.up_proj";
    ModelBuilder b;
    test::add_mo_nvfp4(b, m, 0.25f).numbers(m + "." + suffix, DType::kBf16, {16}, {2});
    const Checkpoint model = Checkpoint::open(b.write(folder / "model"));
    model.require_usable();
    EXPECT_EQ(test::values_of(model, m), std::vector<float>(32, 0.5f));
    Stream stream(kCpu, 1);
    const Error dense = test::error_of([&] { dequantize_checkpoint(stream, model, folder / "dense", {}); });
    const Error other = test::error_of(
        [&] { convert_checkpoint(stream, model, folder / "ct", {.dialect = &find_dialect("compressed-tensors")}); });
    for (const Error& e : {dense, other}) {
      EXPECT_EQ(e.code(), Errc::kUnsupported);
      EXPECT_TRUE(test::has(e.message(), m) && test::has(e.message(), suffix)) << e.what();
    }
  }
}

}  // namespace
}  // namespace tessera
