// A Command is one word of `tessera COMMAND`: what it takes, and what it answers. One file each in app/commands/.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/io/container.h"
#include "tessera/tensor/device.h"

namespace tessera::app {

// Lists the arguments and options of a command: for parsing, for --help and for the reference page.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void positional(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void flag(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void option(std::string_view name, std::string& value, std::string_view shown, std::string_view help) = 0;
  // The same, without which the command line is wrong.
  virtual void required(std::string_view name, std::string& value, std::string_view shown, std::string_view help) = 0;
  virtual void list(std::string_view name, std::vector<std::string>& values, std::string_view shown,
                    std::string_view help) = 0;
};

// What every command is given.
struct Session {
  bool json = false, quiet = false, strict = false;
  std::string device = "cpu", cpu_tier, log_level;
  int threads = 0;  // 0: as many as there are processors
  std::uint64_t seed = 0;
  std::vector<ContainerWarning> warnings;  // printed, and put into the JSON

  Stream open_stream() const;  // throws kUnsupported, kInvalid
  void warn(ContainerWarning warning) { warnings.push_back(std::move(warning)); }
};

// What a command answers: both forms of it, and the exit status (0, or 1 where the answer is no).
struct Answer {
  Json json = JsonObject{};
  std::string text{};
  int status = 0;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual void visit(OptionVisitor& v) = 0;
  virtual Answer run(Session& session) = 0;
};

struct CommandEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Command> (*make)();
};

std::span<const CommandEntry* const> all_commands();  // one per file of app/commands/

// A table for people: columns as wide as their widest cell, numbers to the right where `right` says so.
class TextTable final {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text(std::string_view right = "") const;  // right: one letter a column, 'r' for numbers

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera::app
