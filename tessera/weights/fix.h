// A Fix undoes one fault of an exporter's files without the weights they were made from. One file each in
// weights/fixes/NAME.h; `convert --fix NAME` applies it, `inspect` names it beside what it finds.
//
// A fix never guesses: it looks for the fault, says where it is, and gives an amendment under which the file reads as
// the exporter should have written it. Where the bytes allow two answers it says so and amends nothing. Law: values
// under the amendment are those of the undamaged file, bit for bit (tests/regressions/fixes_test.cc).
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

struct Finding {
  std::string tensor;  // its full name, or a module's; "": the configuration
  std::string message;
};

struct Repair {
  std::vector<Finding> findings{};  // none: the file does not have the fault
  Amendment amendment{};
  std::string doubt{};  // why the undamaged bytes are not certain; "": they are
};

inline constexpr std::uint64_t kEveryByte = std::numeric_limits<std::uint64_t>::max();

struct Fix {
  std::string_view name;         // "nan-block-scales"
  std::string_view description;  // for --help
  std::string_view report;       // where the fault was reported, "" where it was not in public
  // `most`: bytes of codes and block scales to look at in each module. 0: headers, globals and configuration only.
  Repair (*plan)(const Checkpoint& model, std::uint64_t most);
};

std::span<const Fix* const> all_fixes();     // one per file of weights/fixes/
const Fix& find_fix(std::string_view name);  // throws kNotFound, listing the names

struct AppliedFix {
  const Fix* fix = nullptr;
  std::vector<Finding> findings;  // none: there was nothing to fix
};
struct FixedCheckpoint {
  Checkpoint model;
  std::vector<AppliedFix> applied{};  // as they were asked for
  bool changed() const;
};
// The model with these fixes, one after the other. Throws kCorrupt where one is in doubt.
FixedCheckpoint apply_fixes(Checkpoint model, std::span<const Fix* const> fixes);

}  // namespace tessera
