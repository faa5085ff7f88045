// A GGUF file as a Hugging Face style folder: the weights in one dense type, config and tokenizer files beside them.
//
// The folder holds model*.safetensors, config.json, generation_config.json, tokenizer.json, tokenizer_config.json,
// chat_template.jinja (where the file has a template) and source.json: what the weights were in the GGUF file. An
// import is no original: bf16 made from Q4_1 is as exact as Q4_1 was. source.json and the metadata of the safetensors
// files say so; config.json cannot.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tessera/io/container.h"
#include "tessera/io/gguf_model.h"
#include "tessera/numeric/dtype.h"
#include "tessera/tensor/device.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

enum class GgufTokenizerImport : std::uint8_t {
  kRequired,  // a tokenizer that cannot be written stops the import before any weight is read
  kLeftOut,   // weights and config.json only; source.json says so
};

struct GgufImportOptions {
  DType dtype = DType::kBf16;  // or kF32
  GgufTokenizerImport tokenizer = GgufTokenizerImport::kRequired;
  std::uint64_t largest_shard = 5'000'000'000;  // bytes
  // Bytes of weights written so far, and in all. Called by one thread at a time, not always by the same.
  std::function<void(std::uint64_t written, std::uint64_t total)> on_progress = {};
};

struct GgufImportReport {
  std::int64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::string statement;  // one sentence for people: what the weights were
  std::vector<GgufLeftOut> left_out;
  std::vector<ContainerWarning> warnings;
};

// The small files of the folder, name -> text, and what they say in `report`. Reads no weight.
struct GgufSideFiles {
  GgufImportReport report;
  std::map<std::string, std::string> texts;
};
GgufSideFiles make_gguf_side_files(const GgufModel& model, const GgufImportOptions& options = {});

// Writes `out`, which must not exist or be empty, whole or not at all. Values are ggml's own in f32 (times the tensor's
// sidecar NAME.scale, where there is one: one product more in f32), rounded once to the nearest bf16, ties to even;
// rows in the Hugging Face order. One tensor NAME.weight each; the output head is absent where it is tied.
// Memory: for each thread of the stream about 12 MB and what the longest row needs; the headers.
// Throws as read_gguf_model and make_gguf_tokenizer do, before any weight is read; kInvalid for another dtype or an
// `out` that is there; kResource. Law: the folder's bytes do not depend on the number of threads.
GgufImportReport import_gguf(Stream& stream, const Container& container, const std::string& out,
                             const GgufImportOptions& options = {});

// A tensor of MXFP4 or NVFP4 blocks without a change of its values: codes and block scales, rows in the Hugging Face
// order; NVFP4's global is the tensor's sidecar or 1, and multiplies. Scale bytes that ggml reads otherwise than E4M3
// does become the byte of the same value. ggml reads code 8 as +0, so does the result. dequantize(result) is code *
// f32(scale * global), where import_gguf computes (code * scale) * sidecar: both are one rounding from the product of
// the three and may differ in the last bit; without a sidecar they are equal. Throws kUnsupported: another type, or
// MXFP4 with a sidecar; kCorrupt for a scale byte that no E4M3 or E8M0 equals; kShape for a vector.
QuantizedTensor read_gguf_quantized(const GgufModel& model, const GgufTensor& tensor);

}  // namespace tessera
