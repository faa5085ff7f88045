#include "tessera/base/output.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The uncommitted outputs of the process: signals are the process's, so this list is too. `mutex` is held while one is
// made, renamed or removed, so that a signal finds each either whole or absent.
struct Pending {
  std::mutex mutex;
  std::set<std::string> paths;
  int made = 0;  // numbers the temporaries
};
Pending& pending() {
  // Never destroyed: a signal may come while the process exits.
  static Pending& instance = *std::make_unique<Pending>().release();
  return instance;
}

// Other threads may still be writing into the folder, so that once is not always enough.
void remove_tree(const std::string& path) noexcept {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::error_code error;
    fs::remove_all(path, error);
    if (!error) return;
  }
}

// What the file system refuses is an Error, too.
template <class Fn>
auto checked(const Fn& fn) {
  try {
    return fn();
  } catch (const fs::filesystem_error& e) {
    fail(Errc::kResource, "{}", e.what());
  }
}

std::string resolve(const std::string& path) {
  require(!path.empty(), Errc::kInvalid, "the output path is empty");
  fs::path whole = fs::weakly_canonical(fs::absolute(path));
  if (!whole.has_filename()) whole = whole.parent_path();  // "out/"
  require(whole.has_filename(), Errc::kInvalid, "{} cannot be an output", path);
  require(fs::is_directory(whole.parent_path()), Errc::kNotFound, "the folder {} does not exist: make it first",
          whole.parent_path().string());
  return whole.string();
}

// A sibling's name that no other output has. Callers hold the mutex.
std::string temporary_name(const std::string& wanted) {
  const fs::path path(wanted);
  return (path.parent_path() / fmt::format(".{}.partial-{}-{}", path.filename().string(), ::getpid(), pending().made++))
      .string();
}

void discard(const std::string& temporary) noexcept {
  if (temporary.empty()) return;
  const std::lock_guard lock(pending().mutex);
  if (pending().paths.erase(temporary) > 0) remove_tree(temporary);
}

void sync_tree(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) sync_folder(entry.path().string());
    if (entry.is_regular_file()) File::open(entry.path().string()).sync();
  }
  sync_folder(folder);
}

enum class Replace : bool { kNo, kYes };

// Renames `temporary` to `wanted` and forgets it. kNo: not over something that came into being meanwhile.
void publish(const std::string& temporary, const std::string& wanted, Replace replace) {
  const std::lock_guard lock(pending().mutex);
  int result = -1;
  if (replace == Replace::kNo) {
    result = ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, wanted.c_str(), RENAME_NOREPLACE);
    require(result == 0 || errno != EEXIST, Errc::kInvalid, "{} came into being while its contents were written",
            wanted);
  }
  // A file system that has no RENAME_NOREPLACE says EINVAL; a plain rename still refuses a folder that is not empty.
  if (result != 0 && (replace == Replace::kYes || errno == EINVAL || errno == ENOSYS))
    result = ::rename(temporary.c_str(), wanted.c_str());
  if (result != 0) fail_from_errno("rename " + temporary + " to", wanted);
  pending().paths.erase(temporary);
  sync_folder(fs::path(wanted).parent_path().string());
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path) : wanted_(checked([&] { return resolve(path); })) {
  checked([&] {
    const bool exists = fs::exists(wanted_);
    require(!exists || fs::is_directory(wanted_), Errc::kInvalid,
            "{} is a file, and a folder is to be written there: remove it or name another output", path);
    require(!exists || fs::is_empty(wanted_), Errc::kInvalid,
            "{} exists and is not empty: remove it or name another output", path);
  });
  const std::lock_guard lock(pending().mutex);
  std::string name = temporary_name(wanted_);
  while (::mkdir(name.c_str(), 0777) != 0) {
    if (errno != EEXIST) fail_from_errno("make the folder", name);
    name = temporary_name(wanted_);
  }
  pending().paths.insert(name);
  temporary_ = std::move(name);
}

OutputFolder::~OutputFolder() { discard(temporary_); }

void OutputFolder::commit() {
  checked([&] { sync_tree(temporary_); });
  publish(temporary_, wanted_, Replace::kYes);  // rename(2) replaces empty folders only
}

OutputFile::OutputFile(const std::string& path) : wanted_(checked([&] { return resolve(path); })) {
  replaces_ = checked([&] {
    const bool exists = fs::exists(wanted_);
    require(!exists || fs::is_regular_file(wanted_), Errc::kInvalid,
            "{} is not a file, and a file is to be written there: name another output", path);
    require(!exists || fs::file_size(wanted_) == 0, Errc::kInvalid,
            "{} exists and is not empty: remove it or name another output", path);
    return exists;
  });
  const std::lock_guard lock(pending().mutex);
  std::string name = temporary_name(wanted_);
  for (std::error_code error; fs::exists(name, error);) name = temporary_name(wanted_);
  pending().paths.insert(name);
  temporary_ = std::move(name);
}

OutputFile::~OutputFile() { discard(temporary_); }

void OutputFile::commit() {
  File::open(temporary_).sync();
  publish(temporary_, wanted_, replaces_ ? Replace::kYes : Replace::kNo);
}

namespace {

struct Signalled {
  std::atomic<int> number{0};
  sem_t semaphore{};
};
// Made before the handler is, so that the handler finds it made.
Signalled& signalled() {
  static Signalled instance;
  return instance;
}

// What a SignalHook asks for.
struct Hook {
  std::mutex mutex;
  std::function<void(int)> on_signal;
  double seconds = 0;
};
Hook& hook() {
  static Hook& instance = *std::make_unique<Hook>().release();  // never destroyed, as pending()
  return instance;
}

// Async-signal-safe: a lock-free atomic and sem_post. The first signal's number counts.
extern "C" void note_signal(int number) {
  const int saved = errno;
  int none = 0;
  signalled().number.compare_exchange_strong(none, number);
  ::sem_post(&signalled().semaphore);
  errno = saved;
}

// Calls the hook, if there is one, and waits for another signal as long as it asks.
void ask_hook(int number) {
  double seconds = 0;
  {
    const std::lock_guard lock(hook().mutex);
    if (!hook().on_signal) return;
    hook().on_signal(number);
    seconds = hook().seconds;
  }
  timespec end{};
  ::clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += static_cast<time_t>(seconds);
  while (::sem_timedwait(&signalled().semaphore, &end) != 0 && errno == EINTR) {
  }
}

// Removing needs locks and the heap, so a thread does it; the mutex stays locked: nothing may be published any more.
void end_when_signalled() {
  while (::sem_wait(&signalled().semaphore) != 0) {
  }
  ask_hook(signalled().number.load());
  pending().mutex.lock();
  for (const std::string& path : pending().paths) remove_tree(path);
  ::_exit(128 + signalled().number.load());
}

}  // namespace

void remove_outputs_on_signals() {
  if (::sem_init(&signalled().semaphore, 0, 0) != 0)
    fail(Errc::kResource, "cannot make a semaphore: {}", std::strerror(errno));
  pending();
  hook();
  std::thread(end_when_signalled).detach();
  struct sigaction action{};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
}

SignalHook::SignalHook(std::function<void(int)> on_signal, double seconds) {
  const std::lock_guard lock(hook().mutex);
  TESSERA_ASSERT(!hook().on_signal);
  hook().on_signal = std::move(on_signal);
  hook().seconds = seconds;
}

SignalHook::~SignalHook() {
  const std::lock_guard lock(hook().mutex);
  hook().on_signal = nullptr;
}

}  // namespace tessera
