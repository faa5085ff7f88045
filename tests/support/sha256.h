// SHA-256, for fixtures whose expected bytes are kept as hashes. Source: FIPS 180-4.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace tessera::test {

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace tessera::test
