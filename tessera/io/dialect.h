// A Dialect is how one exporter spells quantized weights: which suffix of a module's name holds which part, with which
// dtype, and in which sense a global is meant. One file a dialect, io/dialects/NAME.h (its declarations in NAME.cc
// beside it).
//
// The tensors decide, module by module: names, dtypes, shapes. What a configuration claims is a hint where they leave a
// choice (a block size, who wrote it), and a warning where it contradicts them. So a checkpoint that mixes formats and
// dialects is not a case.
// Source: spec/checkpoint-dialects.md 1 and 4.3; docs/formats/ has a page for each.
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/container.h"
#include "tessera/io/declaration.h"
#include "tessera/io/grid.h"
#include "tessera/numeric/writer.h"

namespace tessera {

// How a writer of the dialect shapes block scales, given their grid of [R, C]. Readers take any of them: axes of length
// one come and go among releases, and the grid is known from the weight.
enum class ScaleShape : std::uint8_t {
  kGrid,        // [R, C]
  kScalar,      // [], of a grid of one
  kOne,         // [1], of a grid of one
  kVector,      // [R], of a grid of one column
  kSpacedGrid,  // [R, 1, C, 1]
};

// One format of the dialect. Dtypes are safetensors names separated by a space; the first is what is written.
struct Spelling {
  std::string_view format;               // a name, or "fp8_block*": the block that the declaration says, else 128 x 128
  std::string_view codes, codes_dtypes;  // suffix: "weight_packed", "U8 F4"
  std::string_view scales{}, scales_dtypes{};
  ScaleShape scale_shape = ScaleShape::kGrid;
  std::string_view global{};  // suffix; F32, one element. "": none
  Sense sense = Sense::kMultiply;
  ScaleShape one_shape = ScaleShape::kScalar;  // of global and activation: kScalar [] or kOne [1]
  std::string_view activation{};               // suffix of a static activation scale, where the dialect has one
  Sense activation_sense =
      Sense::kMultiply;              // kDivide: the stored number multiplies activations when they are quantized
  std::string_view tolerated_one{};  // suffix of a tensor that carries nothing when it holds 1, and else refuses
  std::string_view caveat{};         // what a user should know before writing weights without activation scales
  bool reads_minus_zero = true;      // false: code 8 of E2M1 is read as +0
  std::string_view notes{};          // suffixes of tensors that say something of the module and hold no part of it
  bool global_may_lack = false;      // without the tensor the global is 1
  bool only_claimed = false;         // no other row's shapes differ enough: tried where a claim names the format
  bool only_read = false;            // another row, or another dialect, is what is written
  // Where the bytes are not row after row with the first code in the low nibble:
  bool glued = false;        // suffixes follow the name without a dot: "experts.gate_up_proj" + "_blocks"; banks only
  bool underscored = false;  // glued, and the parameter's own name begins with "_": "experts._gate_up_proj" + "_qdata"
  bool transposed = false;   // codes and scales stand column after column: [experts, in, out]
  bool blocks_axis = false;  // codes have an axis for the blocks: [experts, out, in / 32, 16]
  bool high_nibble_first = false;
  GridOrder scale_order = GridOrder::kRows;
  Block padding{1, 1};             // codes are padded with zeros to multiples of it
  bool flat_tiles = false;         // kTiles: the shape on disk is [rows / 4, columns * 4]
  std::int64_t scale_padding = 4;  // kTiles: columns of scales are padded to a multiple of it, rows to one of 128

  // What is written into the tensor `notes`, of a format and a weight's extent. Null: it is only read.
  std::string (*note)(const Format& format, Extent extent) = nullptr;

  std::string name_of(std::string_view module, std::string_view suffix) const;
};

// The rows of one table, then those of another.
template <class A, class B>
constexpr auto joined(const A& first, const B& second) {
  std::array<Spelling, std::size(A{}) + std::size(B{})> rows{};
  std::copy(std::begin(second), std::end(second), std::copy(std::begin(first), std::end(first), rows.begin()));
  return rows;
}

using ModuleTensors = std::map<std::string, const StoredTensor*, std::less<>>;  // by suffix

// What else is known of a module whose bytes do not say everything.
struct Evidence {
  const ModelConfig& config;
  const Declaration* declaration = nullptr;  // what is read of it; null: nothing
  bool single_file = false;                  // the model is one file, not a folder
  std::optional<bool> tiles{};  // of the file's block scales, where shapes of some of them tell: in tiles, or rows
  std::function<std::string(const StoredTensor&)> text;     // the bytes of a small tensor
  std::function<const Json*(std::string_view)> layer_note;  // of a module, in the metadata "_quantization_metadata"
};
// A dialect knows the module for its own, by other signs than shapes; then no other dialect is asked.
struct Claim {
  std::string_view format{};               // it is this one and no other; "": any that fits
  std::optional<GridOrder> scale_order{};  // instead of the spelling's
  std::optional<Extent> logical{};         // of the weight, where padding hides it
  std::string refusal{};                   // why it cannot be read; "": it can
};
// True where a grid of scales could stand there in whole tiles of 128 x 4.
bool has_tiles(const StoredTensor& scales, Extent grid);

// The scales of an attention layer's KV cache: names after the layer's ("k_proj.k_scale"), and dtypes, the first that
// holds the number being written. Empty: the dialect says nothing of them, and they stay as they are.
struct CacheSpelling {
  std::string_view key{}, value{}, dtypes{};
  ScaleShape shape = ScaleShape::kScalar;
};

struct Dialect {
  std::string_view name;
  std::string_view description;
  std::span<const Spelling> spellings;
  // Siblings that share one global, by the last parts of their names: "q_proj k_proj v_proj".
  std::span<const std::string_view> fused;
  CacheSpelling cache{};
  std::string_view writer;  // whose rule `quantize --as` uses unless told otherwise
  // What the configuration says of the modules, where it is of this dialect; null otherwise.
  std::unique_ptr<Declaration> (*read_declaration)(const ModelConfig& config);
  // Writes the dialect's declaration of a model into its configuration files. Null: nothing is declared.
  void (*write_declaration)(const WrittenModel& model, ModelConfig& config);
  // Whether the module is this dialect's whatever its shapes say. Null: shapes and names decide.
  std::optional<Claim> (*claim)(std::string_view module, const ModuleTensors& tensors,
                                const Evidence& evidence) = nullptr;
  bool only_claimed = false;   // it reads what it claims and nothing else
  bool only_declared = false;  // its spellings are another dialect's too: it reads where the configuration names it
  bool declares_in_metadata = false;  // write_declaration() sets ModelConfig::metadata, of every file written
  std::string_view kin{};             // a dialect whose declaration is no contradiction of this one's tensors
  // Tensors that mark a file as this dialect's and belong to no module, by the last part of their names.
  std::string_view markers{};
};

std::span<const Dialect* const> all_dialects();      // one per file of io/dialects/
const Dialect& find_dialect(std::string_view name);  // throws kNotFound, listing the names

struct Complaint {
  Errc code;
  std::string tensor;  // full name
  std::string message;
};

// How one module's tensors are understood.
struct Reading {
  const Dialect* dialect = nullptr;
  const Spelling* spelling = nullptr;
  Format format{};
  Extent extent{};
  Sense sense = Sense::kMultiply;
  std::int64_t experts = 0;                  // of a bank: `extent` is of each; 0: one matrix
  Grid codes{}, scales{};                    // of the first expert; units: bytes of codes or dense numbers, scales
  std::vector<Complaint> complaints{};       // empty: every tensor of the module is explained
  std::optional<DeclaredScheme> declared{};  // what the configuration claims of the module
};

// The best reading of a module's tensors, those of its name `base`; nothing where none of them is a weight.
// With no complaints it is certain: every other reading without complaints decodes to the same values (else that is a
// complaint of kCorrupt that names both). With complaints it is the nearest one, and they say what is wrong with it.
std::optional<Reading> read_module(std::string_view base, const ModuleTensors& tensors, const Evidence& evidence);

// Splits the name of a tensor into its module and a suffix that some dialect gives a meaning: "weight_scale",
// "_blocks", or "" of a bank that is its own codes ("experts.gate_up_proj"). Nothing: it is no module's.
struct ModuleSuffix {
  std::string module;
  std::string_view suffix;  // of the tensor's name
};
std::optional<ModuleSuffix> split_module_suffix(std::string_view tensor);
// True where the suffix is of scales (block, global or activation): alone, such a tensor is an orphan.
bool is_scale_suffix(std::string_view suffix);
// The dialect's spelling of a format, or null where it cannot say it.
const Spelling* find_spelling(const Dialect& dialect, const Format& format);

}  // namespace tessera
