#include "tessera/weights/import_gguf.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/output.h"
#include "tessera/io/ggml_blocks.h"
#include "tessera/io/gguf_config.h"
#include "tessera/io/gguf_keys.h"
#include "tessera/io/gguf_tokenizer.h"
#include "tessera/io/sharded_writer.h"
#include "tessera/kernels/quantize.h"
#include "tessera/numeric/formats/mxfp4.h"
#include "tessera/numeric/formats/nvfp4.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
namespace {

// Elements of a piece of work: 4 MB of f32. A piece has at least one row (one head where rows are reordered).
constexpr std::int64_t kPiece = std::int64_t{1} << 20;

struct Piece {
  const GgufTensor* tensor = nullptr;
  std::int64_t begin = 0, end = 0;  // rows, in the Hugging Face order
};

std::vector<Piece> cut_in_pieces(std::span<const GgufTensor> tensors) {
  std::vector<Piece> pieces;
  for (const GgufTensor& tensor : tensors) {
    const Extent extent = tensor.extent();
    const bool is_vector = tensor.shape.size() == 1;  // its blocks run along the rows
    const std::int64_t step = tensor.order == GgufRows::kAsStored ? 1 : tensor.head_width;
    const std::int64_t rows_of_piece = std::max<std::int64_t>(1, kPiece / (extent.cols * step)) * step;
    const std::int64_t rows = is_vector ? extent.rows : rows_of_piece;
    for (std::int64_t begin = 0; begin < extent.rows; begin += rows)
      pieces.push_back({&tensor, begin, std::min(begin + rows, extent.rows)});
  }
  return pieces;
}

// One worker's buffers, reused from piece to piece.
struct Buffers {
  std::vector<float> values;
  std::vector<std::uint16_t> rounded;
};

std::span<const std::byte> convert_piece(const GgufModel& model, const Piece& piece, DType dtype, Buffers& buffers) {
  buffers.values.resize(static_cast<std::size_t>((piece.end - piece.begin) * piece.tensor->extent().cols));
  dequantize_rows(model, *piece.tensor, piece.begin, piece.end, buffers.values);
  if (dtype == DType::kF32) return std::as_bytes(std::span(buffers.values));
  buffers.rounded.resize(buffers.values.size());
  for (std::size_t i = 0; i < buffers.values.size(); ++i)
    buffers.rounded[i] = bits16(dtype, round_to(dtype, buffers.values[i]));
  return std::as_bytes(std::span(buffers.rounded));
}

void write_weights(Stream& stream, const GgufModel& model, ShardedWriter& writer, const GgufImportOptions& options,
                   std::uint64_t total) {
  const std::vector<Piece> pieces = cut_in_pieces(model.tensors);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex reporting;
  std::uint64_t written = 0;  // under `reporting`
  const auto work = [&] {
    Buffers buffers;
    for (std::size_t i; !failed && (i = next++) < pieces.size();) {
      const Piece& piece = pieces[i];
      const std::span<const std::byte> bytes = convert_piece(model, piece, options.dtype, buffers);
      const std::int64_t before = piece.begin * piece.tensor->extent().cols * dtype_bits(options.dtype) / 8;
      writer.write(piece.tensor->hf_name, static_cast<std::uint64_t>(before), bytes);
      if (!options.on_progress) continue;
      const std::lock_guard lock(reporting);
      options.on_progress(written += bytes.size(), total);
    }
  };
  stream.pool().run([&](int) {
    try {
      work();
    } catch (...) {
      failed = true;  // the others stop after their piece
      throw;
    }
  });
}

// "210 tensors of Q4_1, 61 of F32, 1 of Q8_0", the most frequent first.
std::string list_types(const GgufModel& model) {
  std::map<std::string_view, int> counts;
  for (const GgufTensor& tensor : model.tensors) ++counts[tensor.type->name];
  std::vector<std::pair<std::string_view, int>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (const auto& [name, count] : sorted)
    text += fmt::format("{}{}{} of {}", text.empty() ? "" : ", ", count,
                        !text.empty() ? ""
                        : count == 1  ? " tensor"
                                      : " tensors",
                        name);
  return text;
}

// Whether values of `type` are a rounding of the model's own.
bool is_quantized(const GgmlType& type) { return type.dtype == DType::kU8; }
bool loses_bits(const GgmlType& type, DType to) { return to == DType::kBf16 && type.dtype != DType::kBf16; }

std::string make_statement(const GgufModel& model, DType dtype) {
  bool quantized = false, rounded = false;
  for (const GgufTensor& tensor : model.tensors) {
    quantized |= is_quantized(*tensor.type);
    rounded |= loses_bits(*tensor.type, dtype);
  }
  const char* name = dtype == DType::kF32 ? "f32" : "bf16";
  const char* meaning = quantized ? "these are dequantized values, not the model's original weights"
                        : rounded ? "these are the file's values, some of them rounded"
                                  : "these are the file's values, unchanged";
  return fmt::format("The weights are {}, made from a GGUF file with {}: {}.", name, list_types(model), meaning);
}

Json make_source(const GgufModel& model, const GgufImportReport& report) {
  GgufKeys general(model.container->gguf_metadata(), "general.");
  Json source = JsonObject{{"statement", report.statement},
                           {"container", "GGUF"},
                           {"file", std::filesystem::path(model.container->path()).filename().string()},
                           {"file_bytes", model.container->files()[0].bytes},
                           {"architecture", std::string(model.architecture->name)}};
  for (const char* key : {"name", "license"})
    if (const std::optional<std::string> text = general.text(key)) source.set(key, *text);
  Json types = JsonObject();
  for (const GgufTensor& tensor : model.tensors) types.set(tensor.hf_name, std::string(tensor.type->name));
  Json left_out = JsonArray();
  for (const GgufLeftOut& left : report.left_out)
    left_out.push(JsonObject{{"name", left.name}, {"reason", left.reason}});
  Json warnings = JsonArray();
  for (const ContainerWarning& warning : report.warnings) warnings.push(warning.message);
  source.set("left_out", std::move(left_out));
  source.set("warnings", std::move(warnings));
  source.set("gguf_types", std::move(types));
  return source;
}

// Asked before any weight is read: what the tokenizer cannot do stops the import.
std::optional<GgufTokenizer> make_tokenizer(const GgufModel& model, const GgufImportOptions& options,
                                            GgufImportReport& report) {
  if (options.tokenizer == GgufTokenizerImport::kLeftOut) {
    report.left_out.push_back({"tokenizer", "weights and configuration alone were asked for"});
    return std::nullopt;
  }
  try {
    GgufTokenizer tokenizer = naming_file(
        model.container->path(), [&] { return make_gguf_tokenizer(model.container->gguf_metadata(), model.config); });
    for (const std::string& remark : tokenizer.remarks) report.warnings.push_back({"tokenizer", "", remark});
    return tokenizer;
  } catch (Error& e) {
    e.add_note("writing the tokenizer's files (the weights can be imported without them)");
    throw;
  }
}

GgufImportReport begin_report(const GgufModel& model, DType dtype) {
  GgufImportReport report{.tensors = static_cast<std::int64_t>(model.tensors.size()),
                          .statement = make_statement(model, dtype),
                          .left_out = model.left_out,
                          .warnings = model.warnings};
  for (const GgufTensor& tensor : model.tensors) report.bytes += tensor_bytes(dtype, tensor.shape);
  return report;
}

}  // namespace

GgufSideFiles make_gguf_side_files(const GgufModel& model, const GgufImportOptions& options) {
  require(options.dtype == DType::kBf16 || options.dtype == DType::kF32, Errc::kInvalid,
          "a GGUF file is imported as f32 or bf16, not as {}", dtype_name(options.dtype));
  GgufSideFiles made{.report = begin_report(model, options.dtype), .texts = {}};
  std::optional<GgufTokenizer> tokenizer = make_tokenizer(model, options, made.report);
  Json config = model.config;
  config.set("torch_dtype", options.dtype == DType::kF32 ? "float32" : "bfloat16");
  auto& fields = config.as_object();
  std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  GgufKeys keys(model.container->gguf_metadata(), "tokenizer.ggml.");
  made.texts.emplace("config.json", config_text(config));
  const Json generation =
      naming_file(model.container->path(), [&] { return make_generation_config(model.config, keys); });
  made.texts.emplace("generation_config.json", config_text(generation));
  made.texts.emplace("source.json", config_text(make_source(model, made.report)));
  if (!tokenizer) return made;
  made.texts.emplace("tokenizer.json", std::move(tokenizer->tokenizer_json));
  made.texts.emplace("tokenizer_config.json", std::move(tokenizer->tokenizer_config_json));
  if (!tokenizer->chat_template.empty()) made.texts.emplace("chat_template.jinja", std::move(tokenizer->chat_template));
  return made;
}

GgufImportReport import_gguf(Stream& stream, const Container& container, const std::string& out,
                             const GgufImportOptions& options) {
  const GgufModel model = read_gguf_model(container);
  GgufSideFiles side = make_gguf_side_files(model, options);
  std::vector<PlannedTensor> plan;
  for (const GgufTensor& tensor : model.tensors)
    plan.push_back({.name = tensor.hf_name, .dtype = options.dtype, .shape = tensor.shape, .group = {}});
  OutputFolder folder(out);
  ShardedWriter writer(folder.path(), std::move(plan),
                       {.largest_shard = options.largest_shard,
                        .metadata = {{"format", "pt"}, {"tessera.source", side.report.statement}}});
  write_weights(stream, model, writer, options, side.report.bytes);
  writer.finish();
  for (const auto& [name, text] : side.texts) write_file(folder.file(name), text);
  folder.commit();
  return side.report;
}

namespace {

const Format* format_of(const GgmlType& type) {
  if (type.name == "MXFP4") return &formats::mxfp4;
  if (type.name == "NVFP4") return &formats::nvfp4;
  return nullptr;
}

// Moves each row to its place in the Hugging Face order.
void reorder_rows(const GgufTensor& tensor, Tensor& rows_of) {
  const auto width = static_cast<std::size_t>(rows_of.shape()[1]);  // bytes
  std::vector<std::byte> stored(rows_of.span().begin(), rows_of.span().end());
  for (std::int64_t row = 0; row < rows_of.shape()[0]; ++row) {
    const std::int64_t from = stored_row(tensor.order, tensor.head_width, row);
    std::memcpy(rows_of.data() + static_cast<std::size_t>(row) * width,
                stored.data() + static_cast<std::size_t>(from) * width, width);
  }
}

}  // namespace

QuantizedTensor read_gguf_quantized(const GgufModel& model, const GgufTensor& tensor) {
  const std::string& name = tensor.stored->name;
  const Format* format = format_of(*tensor.type);
  require(format != nullptr, Errc::kUnsupported, "tensor '{}' is of ggml's type {}; MXFP4 and NVFP4 have a format here",
          name, tensor.type->name);
  require(tensor.shape.size() == 2, Errc::kShape, "tensor '{}' is no matrix", name);
  require(format->has_global || !tensor.has_multiplier, Errc::kUnsupported,
          "tensor '{}' has a sidecar {}, and {} has no global scale to hold it", name, tensor.multiplier, format->name);
  QuantizedTensor q = empty_quantized(*format, tensor.extent());
  try {
    split_ggml(*tensor.type, model.container->read_all(*tensor.stored), {q.codes.span(), q.scales.span()});
  } catch (Error& e) {
    e.in_file(model.container->path()).in_tensor(name).add_note(fmt::format("reading tensor '{}'", name));
    throw;
  }
  if (format->has_global) *q.global.as<float>() = tensor.multiplier;
  q.sense = Sense::kMultiply;
  q.reads_minus_zero = false;
  if (tensor.order != GgufRows::kAsStored) {
    reorder_rows(tensor, q.codes);
    reorder_rows(tensor, q.scales);
  }
  return q;
}

}  // namespace tessera
