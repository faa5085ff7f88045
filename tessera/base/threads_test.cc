#include "tessera/base/threads.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tessera/base/error.h"

namespace tessera {
namespace {

TEST(PartOf, TilesTheRange) {
  for (const std::int64_t n : {0, 1, 7, 8, 100})
    for (const std::int64_t parts : {1, 2, 3, 8, 13}) {
      std::int64_t at = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Part part = part_of(n, parts, i);
        EXPECT_EQ(part.begin, at);
        EXPECT_LE(part.end - part.begin, n / parts + 1);
        at = part.end;
      }
      EXPECT_EQ(at, n);
    }
}

TEST(ThreadPool, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<int> visits(37, 0);
      parallel_for(pool, 37, [&](std::int64_t begin, std::int64_t end, int worker) {
        EXPECT_LT(worker, threads);
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(visits, std::vector<int>(37, 1));
    }
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than the spin
    pool.run([&](int) { ++calls; });
  }
  EXPECT_EQ(calls, 15);
}

TEST(ThreadPool, RethrowsTheLowestPartsException) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    try {
      parallel_for(pool, 8, [](std::int64_t begin, std::int64_t, int) {
        if (begin >= 2) throw std::runtime_error(std::to_string(begin));
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "2");
    }
  }
  std::atomic<int> calls{0};  // and works on
  pool.run([&](int) { ++calls; });
  EXPECT_EQ(calls, 4);
}

TEST(ThreadPool, RunsNestedLoopsOnTheCallingThread) {
  ThreadPool pool(2), other(3);
  std::atomic<int> sum{0};
  parallel_for(pool, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i)
      parallel_for(other, 10, [&](std::int64_t b, std::int64_t e, int) { sum += static_cast<int>(e - b); });
  });
  EXPECT_EQ(sum, 40);
}

TEST(ThreadPool, IsShared) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) pool.run([&](int) { ++calls; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 * 50 * 2);
}

TEST(ThreadPool, RefusesNoThreads) { EXPECT_THROW(ThreadPool(0), Error); }

}  // namespace
}  // namespace tessera
