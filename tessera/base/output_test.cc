#include "tessera/base/output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Output : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-output-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

Errc fault(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.code();
  }
  ADD_FAILURE() << "nothing was refused";
  return Errc::kPeer;
}

TEST_F(Output, StandsWholeAfterCommit) {
  OutputFolder out(at("q/"));
  write_file(out.file("a"), "one");
  EXPECT_FALSE(fs::exists(at("q")));
  out.commit();
  EXPECT_EQ(read_file(at("q/a")), "one");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, IsAbsentWithoutCommit) {
  {
    OutputFolder folder(at("q"));
    write_file(folder.file("a"), "one");
    OutputFile file(at("f"));
    write_file(file.path(), "two");
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Output, ReplacesOnlyEmptyThings) {
  fs::create_directory(at("empty"));
  OutputFolder folder(at("empty"));
  write_file(folder.file("a"), "one");
  folder.commit();
  EXPECT_EQ(read_file(at("empty/a")), "one");
  EXPECT_EQ(fault([&] { OutputFolder again(at("empty")); }), Errc::kInvalid);

  write_file(at("f"), "");
  OutputFile file(at("f"));
  write_file(file.path(), "two");
  file.commit();
  EXPECT_EQ(read_file(at("f")), "two");
  EXPECT_EQ(fault([&] { OutputFile again(at("f")); }), Errc::kInvalid);
  EXPECT_EQ(fault([&] { OutputFolder again(at("f")); }), Errc::kInvalid);
  EXPECT_EQ(fault([&] { OutputFile again(at("empty")); }), Errc::kInvalid);
  EXPECT_EQ(fault([&] { OutputFile again(at("no/such/f")); }), Errc::kNotFound);
}

TEST_F(Output, DoesNotReplaceWhatCameMeanwhile) {
  OutputFile file(at("f"));
  write_file(file.path(), "mine");
  write_file(at("f"), "theirs");
  EXPECT_EQ(fault([&] { file.commit(); }), Errc::kInvalid);
  EXPECT_EQ(read_file(at("f")), "theirs");

  OutputFolder folder(at("q"));
  fs::create_directory(at("q"));
  write_file(at("q/theirs"), "");
  EXPECT_EQ(fault([&] { folder.commit(); }), Errc::kResource);
}

// The child writes until it is told to stop; its parent looks at what is left.
void run_until(const std::string& wanted, int signal_number, int expected_status) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    remove_outputs_on_signals();
    OutputFolder out(wanted);
    write_file(out.file("a"), "one");
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (int i = 0;; ++i) write_file(out.file(std::to_string(i)), "more");
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, signal_number);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), expected_status);
  ::close(ready[0]);
  ::close(ready[1]);
}

// The exit status of a process that holds a hook, writes to `folder` and gets `signals` of them. It ends by itself,
// with status 7, after the first one.
int status_with_hook(const std::string& folder, int signals, double seconds, bool ends) {
  const pid_t child = ::fork();
  if (child == 0) {
    remove_outputs_on_signals();
    const OutputFolder out(folder);
    std::atomic<int> number{0};
    const SignalHook hook([&](int n) { number = n; }, seconds);
    for (int i = 0; i < signals; ++i) {
      ::kill(::getpid(), SIGTERM);
      while (number != SIGTERM) ::usleep(1000);
    }
    if (ends) ::_exit(7);
    while (true) ::pause();
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Output, LetsACommandWithAHookEndByItselfAtTheFirstSignalOnly) {
  EXPECT_EQ(status_with_hook(at("a"), 1, 60, true), 7);
  fs::remove_all(folder_);
  fs::create_directory(folder_);  // _exit left the output
  EXPECT_EQ(status_with_hook(at("b"), 2, 60, false), 143);
  EXPECT_EQ(status_with_hook(at("c"), 1, 1, false), 143);  // it took too long
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Output, IsAbsentAfterAnInterrupt) {
  run_until(at("q"), SIGINT, 130);
  EXPECT_EQ(entries(), 0u);
  run_until(at("q"), SIGTERM, 143);
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace tessera
