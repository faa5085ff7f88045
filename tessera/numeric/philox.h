// Philox4x32-10: random words that are a pure function of a key and a counter, so that a draw belongs to a logical
// element and not to a thread, a rank or a launch. Host, device and NVRTC sources use this one. Source: Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3 and table 2.
#pragma once
#include <cstdint>

namespace tessera {

struct Philox4 {
  std::uint32_t word[4];
};

// What a consumer of random numbers is keyed by. `seed`: of the run; `stream`: parameter or sample, and consumer
// ("blocks.3.ffn.up/dgrad.a"), hashed. Never a rank, thread or launch.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

constexpr Philox4 philox(std::uint32_t key0, std::uint32_t key1, Philox4 counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// The random word of logical element `index` (row * columns of the whole + column).
constexpr std::uint32_t random_word(const RandomKey& key, std::uint64_t index) {
  const std::uint64_t block = index / 4;
  const Philox4 drawn =
      philox(static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32),
             {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
               static_cast<std::uint32_t>(key.stream), static_cast<std::uint32_t>(key.stream >> 32)}});
  return drawn.word[index % 4];
}

}  // namespace tessera
