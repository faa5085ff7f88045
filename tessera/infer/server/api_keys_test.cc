#include "tessera/infer/server/api_keys.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera::server {
namespace {

TEST(ApiKeys, AdmitsTheKeysOfTheFileOnly) {
  const ApiKeys keys = ApiKeys::parse("one\r\n  two words \n\n");
  for (const char* header : {"Bearer one", "bearer one", "Bearer   two words "})
    EXPECT_TRUE(keys.admits(header)) << header;
  for (const char* header : {"", "one", "Basic one", "Bearer", "Bearer ", "Bearer on", "Bearer oneo", "Bearer oneone",
                             "Bearer two", "Bearer ONE"})
    EXPECT_FALSE(keys.admits(header)) << header;
}

TEST(ApiKeys, AdmitEveryoneWithoutAFileAndNobodyByAnEmptyOne) {
  EXPECT_TRUE(ApiKeys().admits(""));
  EXPECT_THROW(ApiKeys::parse(" \n\n"), Error);
}

}  // namespace
}  // namespace tessera::server
