#include "tessera/base/progress.h"

#include <gtest/gtest.h>

#include "tessera/base/log.h"

namespace tessera {
namespace {

TEST(Progress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(draw_progress({"reading", 1'500'000'000, 3'000'000'000, 3}, 200),
            "reading  [############............]  1.5 GB of 3.0 GB  500.0 MB/s  3 s left");
  EXPECT_EQ(draw_progress({"reading", 10, 0, 0}, 200), "reading  10 B");
  EXPECT_EQ(draw_progress({"reading", 10, 0, 0}, 4), "read");
}

TEST(Log, KnowsItsLevels) {
  for (const auto name : {"debug", "info", "warning", "error", "off"})
    EXPECT_EQ(log_level_name(*find_log_level(name)), name);
  EXPECT_FALSE(find_log_level("loud"));
}

TEST(Log, WritesOnceAndAboveItsLevel) {
  const LogLevel before = log_level();
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) log_once(LogLevel::kInfo, "slow path {}", 1);
  log_message(LogLevel::kDebug, "quiet");
  log_message(LogLevel::kError, "loud {}", "one");
  const std::string written = ::testing::internal::GetCapturedStderr();
  set_log_level(before);
  EXPECT_EQ(written.find("slow path 1"), written.rfind("slow path 1"));
  EXPECT_NE(written.find("loud one"), std::string::npos);
  EXPECT_EQ(written.find("quiet"), std::string::npos);
}

}  // namespace
}  // namespace tessera
