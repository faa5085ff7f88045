// The law of every reader of untrusted bytes: any bytes give a value or an Error, never anything else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::fuzz {

// Calls check(text); an Error is an answer. Any other exception ends the process, as a broken law inside `check` does
// (TESSERA_ASSERT).
template <class Check>
int answer(const std::uint8_t* data, std::size_t size, const Check& check) {
  try {
    check(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& e) {
    TESSERA_ASSERT(!e.message().empty());
  }
  return 0;
}

}  // namespace tessera::fuzz

// libFuzzer's own name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
