// Errors: what the caller or the world did wrong. What we did wrong is an assertion.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

enum class Errc : std::uint8_t {
  kInvalid,      // an argument or config value that no run could accept
  kShape,        // tensors that do not fit together
  kCorrupt,      // bytes that are not what their header says
  kNotFound,     // an absent file, tensor, format, dialect or model
  kUnsupported,  // meaningful, but not on this build or device
  kResource,     // memory, disk or a device exhausted or lost
  kPeer,         // another rank failed first; its message is ours
};

// The word for a code in JSON ("corrupt") and the exit status of the command (12): surface.md's table.
std::string_view errc_name(Errc code);
int exit_status(Errc code);

// The one exception of the library. `message` holds the values that did not fit; each layer that knows a name the layer
// below does not adds it on the way up: add_note("reading layers.0.up") prints as "\n  while reading layers.0.up".
// `file` and `tensor` are for machines that read the JSON; they are empty when unknown.
class Error final : public std::exception {
 public:
  Error(Errc code, std::string message) : code_(code), message_(std::move(message)), text_(message_) {}

  Errc code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::vector<std::string>& notes() const noexcept { return notes_; }  // innermost first, without "while"
  const char* what() const noexcept override { return text_.c_str(); }       // the message and its notes

  void add_note(std::string note) {
    text_ += "\n  while " + note;
    notes_.push_back(std::move(note));
  }
  Error& in_file(std::string file) {  // keeps the first, innermost one
    if (file_.empty()) file_ = std::move(file);
    return *this;
  }
  Error& in_tensor(std::string tensor) {
    if (tensor_.empty()) tensor_ = std::move(tensor);
    return *this;
  }
  const std::string& file() const noexcept { return file_; }
  const std::string& tensor() const noexcept { return tensor_; }

 private:
  Errc code_;
  std::string message_, text_, file_, tensor_;
  std::vector<std::string> notes_;
};

// Throws Error(code) with the formatted message.
template <class... Args>
[[noreturn]] void fail(Errc code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

// Throws unless `ok`. The message is formatted only then.
template <class... Args>
void require(bool ok, Errc code, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(code, text, std::forward<Args>(args)...);
}

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace tessera

// A condition that only a bug in Tessera can break. An assertion that a user can reach is a bug report.
#define TESSERA_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::tessera::assertion_failed(#condition, __FILE__, __LINE__))
