// A fixture: one safetensors file made by an exporter's own code, with the values that its own code computes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::test {

struct Fixture {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  const Tensor& at(const std::string& name) const;  // fails the test's process with the name when it is absent
  bool has(const std::string& name) const { return tensors.contains(name); }
  // "gauss_bf16" of "gauss_bf16.input", for each tensor called *.input.
  std::vector<std::string> cases() const;
};

// `path` is relative to tests/data.
Fixture read_fixture(const std::string& path);

// The first index at which two buffers differ, or -1. Bytes for which `equal` says yes are equal.
std::int64_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace tessera::test
