// ModelOutput: a model folder that is there whole or not at all: shards and index, configurations, and the side files
// of the model it was made from (tokenizer, templates, licence), but for weights and stale declarations.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/output.h"
#include "tessera/base/progress.h"
#include "tessera/io/checkpoint.h"
#include "tessera/io/sharded_writer.h"

namespace tessera {

struct ModelPlan {
  std::vector<PlannedTensor> tensors;
  ModelConfig config;     // to be written: config.json, hf_quant_config.json where it is not null, and metadata
  StoredGlobals globals;  // originals that travel in metadata
};

class ModelOutput final {
 public:
  // Throws as OutputFolder and ShardedWriter do.
  ModelOutput(const Checkpoint& from, const std::string& out, ModelPlan plan);
  ShardedWriter& writer() { return *writer_; }
  void commit();

 private:
  const Checkpoint& from_;
  ModelPlan plan_;
  OutputFolder folder_;
  std::unique_ptr<ShardedWriter> writer_;
};

// Copies a tensor as it is, in pieces.
void copy_tensor(const Container& from, const StoredTensor& tensor, std::string_view name, ShardedWriter& to,
                 Progress& progress);

// Runs job(0) ... job(count - 1), each once, on the threads of the pool, the next free thread taking the next job. Jobs
// write to disjoint places. The exception of the lowest job that threw is rethrown; later jobs are not started then.
void run_jobs(ThreadPool& pool, std::size_t count, const std::function<void(std::size_t)>& job);

// Rows that one piece of work takes of a matrix: about 2 MiB, whole blocks of the format.
// `granule`: a multiple of the block's rows that stripes begin at.
std::int64_t stripe_rows(const Format& format, Extent extent, int bits_per_element, std::int64_t granule = 1);

}  // namespace tessera
