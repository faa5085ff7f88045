// Outputs that are there whole or not at all. One writes into a temporary sibling; commit() syncs and renames it.
// Without commit (an exception, a signal) the sibling is removed and the wanted path is as it was before.
//
//   OutputFolder out("models/q");
//   write_file(out.file("config.json"), text);
//   out.commit();
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace tessera {

class OutputFolder final {
 public:
  // kInvalid when `path` exists and is no empty folder; kNotFound when its parent does not exist.
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return temporary_; }  // where to write until commit()
  std::string file(std::string_view name) const { return temporary_ + "/" + std::string(name); }
  void commit();  // syncs every file in it; then the folder stands at `path`

 private:
  std::string wanted_, temporary_;
};

class OutputFile final {
 public:
  // kInvalid when `path` exists and is no empty file; kNotFound when its parent does not exist.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return temporary_; }  // create it: it does not exist yet
  void commit();

 private:
  std::string wanted_, temporary_;
  bool replaces_ = false;
};

// SIGINT and SIGTERM from now on end the process with exit status 130 or 143, after every uncommitted output is
// removed. Call once, at the start of a command. They are caught even where the parent had them ignored, so that a
// script's background job ends cleanly too. A process killed by SIGKILL leaves its sibling, `.NAME.partial-PID-N`, and
// no output.
void remove_outputs_on_signals();

// While one lives, the first SIGINT or SIGTERM calls `on_signal` with its number, on a thread of its own, and leaves
// the process running, for a command that has to end by itself with that status. A second signal, or `seconds` after
// the first, ends the process as ever. One at a time; what on_signal does must be short.
class SignalHook final {
 public:
  SignalHook(std::function<void(int number)> on_signal, double seconds);
  ~SignalHook();  // on_signal is not running any more, and will not be called
  SignalHook(const SignalHook&) = delete;
  SignalHook& operator=(const SignalHook&) = delete;
};

}  // namespace tessera
