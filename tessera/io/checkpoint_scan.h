// The scan of a container's headers that makes a Checkpoint: modules, problems, contradictions.
#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tessera/io/checkpoint.h"

namespace tessera {

struct CheckpointScan {
  ModelConfig config;
  std::unique_ptr<Declaration> declared;
  std::vector<Module> modules;
  std::vector<Bank> banks;
  std::unordered_map<const StoredTensor*, Checkpoint::Place>
      places;  // of tensors that belong to a module, and of KV scales
  std::vector<Problem> problems;
  std::vector<ContainerWarning> warnings;        // the container's, and the contradictions
  std::vector<ContainerWarning> contradictions;  // between what is declared and what is there

  void add_problem(Problem problem);  // but once where the one before says the same
};

// `config`: instead of the configuration files beside the container; its metadata comes from the container all the
// same.
CheckpointScan scan_checkpoint(const Container& container, std::optional<ModelConfig> config = {});

}  // namespace tessera
