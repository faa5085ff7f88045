#include "tessera/io/sharded_writer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"
#include "tessera/io/model_folder.h"

namespace tessera {
namespace {

struct Group {
  std::uint64_t bytes = 0;
  std::vector<std::size_t> members;
};

std::vector<Group> group_tensors(std::span<const PlannedTensor> tensors) {
  std::vector<Group> groups;
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t at = groups.size();
    if (!tensors[i].group.empty()) at = place.emplace(tensors[i].group, groups.size()).first->second;
    if (at == groups.size()) groups.emplace_back();
    groups[at].bytes += planned_bytes(tensors[i]);
    groups[at].members.push_back(i);
  }
  return groups;
}

}  // namespace

std::vector<std::uint32_t> plan_shards(std::span<const PlannedTensor> tensors, std::uint64_t largest_shard) {
  std::vector<std::uint32_t> shard_of(tensors.size());
  std::uint32_t shard = 0;
  std::uint64_t filled = 0;
  for (const Group& group : group_tensors(tensors)) {
    if (filled > 0 && (filled > largest_shard || group.bytes > largest_shard - filled)) ++shard, filled = 0;
    for (const std::size_t member : group.members) shard_of[member] = shard;
    filled += group.bytes;
  }
  return shard_of;
}

ShardedWriter::ShardedWriter(std::string folder, std::vector<PlannedTensor> tensors, ShardOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  const std::vector<std::uint32_t> plan = plan_shards(tensors, options_.largest_shard);
  const std::size_t count = plan.empty() ? 1 : std::size_t{*std::max_element(plan.begin(), plan.end())} + 1;
  std::vector<std::vector<PlannedTensor>> parts(count);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_new = shard_of_.emplace(tensors[i].name, plan[i]).second;
    require(is_new, Errc::kInvalid, "tensor '{}' is planned twice", printable(tensors[i].name));
    parts[plan[i]].push_back(std::move(tensors[i]));
  }
  for (std::size_t i = 0; i < count; ++i) {
    files_.push_back(count == 1 ? options_.stem + ".safetensors"
                                : fmt::format("{}-{:05}-of-{:05}.safetensors", options_.stem, i + 1, count));
    shards_.emplace_back(join_path(folder_, files_.back()), std::move(parts[i]), options_.metadata);
  }
}

void ShardedWriter::write(std::string_view name, std::uint64_t begin, std::span<const std::byte> bytes) {
  const auto shard = shard_of_.find(name);
  if (shard == shard_of_.end()) fail(Errc::kNotFound, "tensor '{}' was not planned", printable(name));
  shards_[shard->second].write(name, begin, bytes);
}

void ShardedWriter::finish() {
  std::uint64_t total = 0;
  for (SafetensorsWriter& shard : shards_) {
    shard.finish();
    total += shard.data_bytes();
  }
  if (shards_.size() == 1) return;
  JsonObject weight_map;
  for (const auto& [name, shard] : shard_of_) weight_map.emplace_back(name, files_[shard]);
  Json index;
  index.set("metadata", JsonObject()).set("total_size", total);
  index.set("weight_map", std::move(weight_map));
  write_file(join_path(folder_, options_.stem + ".safetensors.index.json"), index.dump(2) + "\n");
}

}  // namespace tessera
