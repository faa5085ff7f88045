// Small model folders for tests, tensor by tensor: the bytes of a bug report's file without its gigabytes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/checkpoint.h"

namespace tessera::test {

class ModelBuilder final {
 public:
  // One value of `values` everywhere, or one for each element; stored as `dtype`, in which they must be exact.
  ModelBuilder& numbers(const std::string& name, DType dtype, Shape shape, std::vector<float> values);
  // Bytes as they stand: one everywhere, or all of them.
  ModelBuilder& bytes(const std::string& name, DType dtype, Shape shape, std::vector<std::uint8_t> bytes);
  ModelBuilder& file(const std::string& name, std::string_view text);        // config.json, hf_quant_config.json
  ModelBuilder& metadata(const std::string& key, const std::string& value);  // of every safetensors file
  // Tensors named from now on stand in the next shard; there is an index then.
  ModelBuilder& next_shard();

  const std::string& write(const std::string& folder) const;  // makes it; returns it

 private:
  struct Entry {
    std::string name;
    Tensor tensor;
    int shard;
  };
  void write_shard(const std::string& path, int shard) const;
  std::vector<Entry> tensors_;
  std::map<std::string, std::string> files_, metadata_{{"format", "pt"}};
  int shards_ = 1;
};

// The values of a module's weight in f32, rows first.
std::vector<float> values_of(const Checkpoint& model, std::string_view module);

void fail_without_error();  // fails the running test

// The error of `work`; fails the test when there is none.
template <class Work>
Error error_of(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    return e;
  }
  fail_without_error();
  return Error(Errc::kInvalid, "");
}

// The error that using the checkpoint ends with: of opening it, of its first harmful problem, or of loading a module.
Error refusal_of(const std::string& folder);

}  // namespace tessera::test
