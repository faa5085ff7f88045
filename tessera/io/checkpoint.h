// A Checkpoint: a model on disk, understood. Every tensor is part of a module, or stands for itself, or is a problem.
//
// Reads headers, configurations and globals; codes only of modules whose global is damaged (to tell a zero tensor from
// a broken one). Names, packings and layouts of exporters end here: load() gives a QuantizedTensor that decodes to the
// exporter's own values, with the bits of its global as they are stored (laws 3 and 7).
// Policy for damaged values: spec/checkpoint-dialects.md 7.5.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/io/amendment.h"
#include "tessera/io/container.h"
#include "tessera/io/dialect.h"
#include "tessera/io/expert_bank.h"
#include "tessera/io/stored_globals.h"
#include "tessera/tensor/quantized_tensor.h"

namespace tessera {

struct Module {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  Reading reading;
  std::optional<StoredGlobal> global{};  // the original bits, where they travelled in metadata
  float global_in_file = 1;              // the number that the file's own tensor holds, in the sense of `reading`
  // A static activation scale: the bits and their sense; absent where there is none or it is damaged (then dynamic).
  std::optional<StoredGlobal> activation{};
  ActivationScheme activation_scheme = ActivationScheme::kNone;
  const StoredTensor *codes = nullptr, *scales = nullptr, *global_tensor = nullptr, *activation_tensor = nullptr;
  std::string bank{};  // of a matrix of one expert of it: the bank's name
  std::int64_t expert = 0;

  // A tensor without which the weight is not what its layer computes: Model Optimizer's "pre_quant_scale", which
  // multiplies activations (AWQ), or one of "svdquant_lora_a" and "_b", whose product is added. Null: it is.
  const StoredTensor* companion = nullptr;

  bool is_quantized() const { return reading.format.is_scaled(); }
  bool is_matrix() const { return !bank.empty() || codes->shape.size() == 2; }
  std::uint64_t bytes() const;
};

struct Problem {
  std::string code;    // "missing", "orphan_scale", "bad_global"
  Errc error;          // what loading the model fails with
  std::string tensor;  // or module
  std::string message;
  bool harmless = false;
};

enum class Role : std::uint8_t { kCodes, kScales, kGlobal, kActivation, kDense, kKvScale, kIgnored, kMarker };
std::string_view role_name(Role role);

struct OpenOptions {
  bool strict = false;  // a contradiction between configuration and tensors is an error
};

class Checkpoint final {
 public:
  // Throws as Container::open does, and kCorrupt for configuration files that are no JSON. What is wrong with tensors
  // is a problem, not an exception: see require_usable().
  static Checkpoint open(const std::string& path, const OpenOptions& options = {});
  // The same model as the amendment shows it, understood anew; this one stays as it is.
  Checkpoint amended(const Amendment& amendment) const;
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const Container& container() const;
  const ModelConfig& config() const;
  const Declaration* declared() const;      // null: nothing is declared
  std::span<const Module> modules() const;  // sorted by name: quantized weights, and dense ones of two axes or more
  const Module* find(std::string_view name) const;
  std::span<const Bank> banks() const;  // sorted by name
  const Bank* find_bank(std::string_view name) const;
  // The role of a tensor, and its module or bank ("" where it has none).
  struct Place {
    Role role = Role::kDense;
    std::string module{};
  };
  Place place(const StoredTensor& tensor) const;
  std::span<const Problem> problems() const;
  std::span<const ContainerWarning> warnings() const;  // contradictions and oddities that loading survives

  // Throws the first harmful problem as an error that says how many there are; in strict mode the first contradiction
  // too.
  void require_usable() const;

  // A quantized module's matrix, complete and checked: no NaN among its scales, none negative, E8M0 none of 255. On the
  // CPU. Throws kCorrupt naming the tensor, the index and the byte.
  QuantizedTensor load(const Module& module) const;
  // Rows [begin, end) of it. Throws kShape unless both are multiples of the format's block, or the end.
  QuantizedTensor load_rows(const Module& module, std::int64_t begin, std::int64_t end) const;
  // The same, as they stand: for those who look for damage. Scales may be no numbers.
  QuantizedTensor load_rows_unchecked(const Module& module, std::int64_t begin, std::int64_t end) const;
  // Rows [begin, end) of a dense module's matrix, in its own dtype.
  Tensor load_dense_rows(const Module& module, std::int64_t begin, std::int64_t end) const;
  // Any stored tensor, as it is.
  Tensor load_tensor(const StoredTensor& tensor) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Throws kCorrupt for the first block scale that no writer means: NaN, E8M0 255, a negative one, an infinite one.
// `name`: of the tensor, for the message. E4M3 -0 passes: it is a zero.
void require_scales(const QuantizedTensor& q, std::string_view name);

}  // namespace tessera
