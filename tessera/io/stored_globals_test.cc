#include "tessera/io/stored_globals.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera {
namespace {

TEST(StoredGlobals, ComeBackFromTheirTextInEverySense) {
  StoredGlobals kept;
  for (const Sense sense : {Sense::kMultiply, Sense::kDivide, Sense::kReciprocalFirst, Sense::kMaximum})
    kept.keep("weight" + std::to_string(static_cast<int>(sense)), {0x1.5a5a5ap-9f, sense});
  const StoredGlobals again = StoredGlobals::parse(kept.text());
  EXPECT_EQ(again.text(), kept.text());
  const StoredGlobal maximum{0x1.5a5a5ap-9f, Sense::kMaximum};
  EXPECT_EQ(again.original("weight3", across_sense(maximum, Sense::kDivide), Sense::kDivide), maximum);
  EXPECT_THROW(StoredGlobals::parse(R"({"weight": "3d000000?"})"), Error);
}

// Of a maximum: over 2688 to multiply, 2688 over it to divide; and back.
TEST(StoredGlobals, CrossTheSensesOfAMaximum) {
  const StoredGlobal maximum{2.625f, Sense::kMaximum};  // 2688 / 1024
  EXPECT_FLOAT_EQ(across_sense(maximum, Sense::kMultiply), 0x1p-10f);
  EXPECT_FLOAT_EQ(across_sense(maximum, Sense::kDivide), 1024.f);
  EXPECT_EQ(across_sense(maximum, Sense::kMaximum), 2.625f);
  EXPECT_EQ(across_sense({0x1p-10f, Sense::kMultiply}, Sense::kMaximum), 2.625f);
  EXPECT_EQ(across_sense({1024.f, Sense::kDivide}, Sense::kMaximum), 2.625f);
  EXPECT_EQ(across_sense({1024.f, Sense::kDivide}, Sense::kReciprocalFirst), 1024.f);
}

}  // namespace
}  // namespace tessera
