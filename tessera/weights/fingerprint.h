// A Fingerprint is one exporter as the bytes of its files show it: what it makes of zeros, which digits its globals
// have, how it chooses shared exponents; release by release. One file each in weights/fingerprints/NAME.h, with the
// faults of that exporter that no fix undoes (those that one does are in weights/fixes/).
//
// Attribution excludes: an exporter stays unless something that was seen is something it never writes. So the answer
// is a set that holds the true one, smaller the more there was to see; configuration files are not asked.
// Source: spec/checkpoint-dialects.md 2.10, 4.4; docs/formats/writers.md, "Signatures"; the values of each are proved
// on its own files (tests/conformance/fingerprints_test.cc).
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/checkpoint.h"
#include "tessera/weights/fix.h"

namespace tessera {

struct ByteRange {
  std::uint8_t first = 0, last = 255;
  constexpr bool has(std::uint8_t b) const { return first <= b && b <= last; }
};

enum class MinusZero : std::uint8_t {
  kAny,
  kNever,         // no code is -0
  kInZeroBlocks,  // every code of a block of zeros is; what rounds to zero keeps its sign
};
enum class Digits : std::uint8_t {
  kAny,
  kOfWeights,  // globals are rounded to the dtype of the weights
  kAll,        // they have all digits of an f32
};
// What a weight of zeros becomes.
struct ZeroWeight {
  float global = 1;  // as stored
  bool nan_scales = false;
  bool operator==(const ZeroWeight&) const = default;
};

// What one release writes in one way; whatever is not named may be anything.
struct Signature {
  std::string_view families;                 // "MXFP4 MXFP8": words of format_family()
  std::span<const ByteRange> zero_blocks{};  // scale bytes of blocks whose codes are all zero; empty: any
  ByteRange others{};                        // scale bytes of the other blocks
  ByteRange largest{};                       // of MX: the largest code of a block, without its sign
  MinusZero minus_zero = MinusZero::kAny;
  Digits digits = Digits::kAny;
  std::optional<ZeroWeight> zero_weight{};
  std::string_view scale_dtypes{};  // of f32 scales, on disk; "": any
};
struct Release {
  std::string_view versions;  // "compressed-tensors 0.15 and later"
  std::span<const Signature> signatures;
};

struct ExporterFault {
  std::string_view code;    // "infinite-global"
  std::string_view report;  // where it was reported
  // What is wrong with rows of a weight, as sample_rows() gives them; "": nothing. Null: nothing to see there.
  std::string (*in_rows)(const Module& module, const QuantizedTensor& rows) = nullptr;
  // What is wrong that headers and globals show. Null likewise.
  std::vector<Finding> (*in_model)(const Checkpoint& model) = nullptr;
};

struct Fingerprint {
  std::string_view name;      // "llm-compressor"
  std::string_view dialects;  // names, separated by spaces, of those it writes
  std::span<const Release> releases;
  std::span<const ExporterFault> faults{};
};

std::span<const Fingerprint* const> all_fingerprints();  // one per file of weights/fingerprints/

// What was seen of all weights of one family.
struct Traits {
  std::string family;           // "NVFP4"
  std::optional<DType> source;  // of the weights before; nothing where that is not known
  std::array<bool, 256> zero_blocks{}, others{}, largest{};
  std::uint64_t zero_block_count = 0, block_count = 0;
  bool plus_zero = false, minus_zero = false;  // among the codes
  bool zeros_with_plus = false;                // +0 in a block of zeros
  std::set<std::uint32_t> globals{};           // bits as they stand, of weights that are not zero
  std::vector<ZeroWeight> zero_weights{};
  std::set<DType> scale_dtypes{};

  // `rows`: of one weight; those of zeros alone are taken for a weight of zeros.
  void add(const QuantizedTensor& rows);
  void add_global(float stored) { globals.insert(std::bit_cast<std::uint32_t>(stored)); }
};

struct Attribution {
  const Fingerprint* exporter = nullptr;
  std::string versions;  // "any" where all its releases fit
  std::vector<std::string> evidence;
};
// Every exporter that may have written what was seen. Empty `traits`: all of them.
std::vector<Attribution> attribute(std::span<const Traits> traits);

struct Fault {
  std::string code, report, tensor, message;
  const Fix* fix = nullptr;  // that undoes it, where that is certain
};
struct FingerprintReport {
  std::vector<Attribution> exporters;
  std::vector<Fault> faults;
};

inline constexpr std::uint64_t kFingerprintBytes = 256 << 10;  // of a module

// Of a whole model; exporters whose tensors have other names are left out, unless no other fits the bytes. `most`:
// bytes of codes and block scales to look at in each module (see sample_rows()); 0: names, headers, globals.
FingerprintReport take_fingerprint(const Checkpoint& model, std::uint64_t most);

}  // namespace tessera
