// What the two kinds of requests that generate text have in common.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/infer/sampler.h"
#include "tessera/infer/server/request_fields.h"

namespace tessera::server {

constexpr std::int64_t kMostChoices = 128;  // texts that one request asks for
constexpr std::int64_t kMostStops = 4;
constexpr int kMostTopLogprobs = 20;

// What a request is held against, and what it gets where it is silent.
struct RequestDefaults {
  std::string model;                           // the only name that is served
  std::int64_t vocabulary = 0;                 // ids below it can be named
  SamplingOptions sampling{.temperature = 1};  // the seed is not used
};

struct GenerationOptions {
  SamplingOptions sampling{};
  std::optional<std::uint64_t> seed{};
  std::optional<std::int64_t> max_tokens{};
  std::int64_t n = 1;
  std::vector<std::string> stops{};
  std::vector<std::pair<std::int32_t, float>> logit_bias{};
  bool ignores_end = false;
  bool streams = false, includes_usage = false;
};

// Reads all of them but max_tokens, whose name and lowest value differ. Refuses a model that is not served (404) and
// what is out of range, each by name.
GenerationOptions read_generation_options(RequestFields& fields, const RequestDefaults& defaults);

}  // namespace tessera::server
