// Writes a checkpoint's tensors into a folder: model.safetensors, or model-00001-of-0000N.safetensors with an index
// that comes last. Shards follow the order of the plan; which tensor goes where depends on the plan and the options
// alone. Source: spec 1.18, 3.5.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/safetensors_writer.h"

namespace tessera {

struct ShardOptions {
  std::string stem = "model";                         // diffusers: "diffusion_pytorch_model"
  std::uint64_t largest_shard = 5'000'000'000;        // bytes of tensors; one group beyond it has a shard of its own
  SafetensorsMetadata metadata = {{"format", "pt"}};  // of every shard
};

class ShardedWriter final {
 public:
  // `folder` exists. Tensors of one group (its place: where its first tensor stands) share a shard; an empty group is
  // the tensor alone. Throws as SafetensorsWriter does; kInvalid for a name planned twice.
  ShardedWriter(std::string folder, std::vector<PlannedTensor> tensors, ShardOptions options = {});

  // Any thread; see SafetensorsWriter::write.
  void write(std::string_view name, std::uint64_t begin, std::span<const std::byte> bytes);
  void finish();  // syncs every shard, then writes the index

  const std::vector<std::string>& files() const { return files_; }  // names in the folder

 private:
  std::string folder_;
  ShardOptions options_;
  std::vector<std::string> files_;
  std::vector<SafetensorsWriter> shards_;
  std::map<std::string, std::uint32_t, std::less<>> shard_of_;
};

// The shard of each tensor, counted from 0 and without gaps.
std::vector<std::uint32_t> plan_shards(std::span<const PlannedTensor> tensors, std::uint64_t largest_shard);

}  // namespace tessera
