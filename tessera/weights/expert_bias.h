// Biases of experts: one tensor for all of them beside a bank, or one for each matrix. They follow their weights when a
// conversion takes a bank apart or puts one together.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tessera/io/sharded_writer.h"
#include "tessera/weights/spelled.h"

namespace tessera {

class ExpertBiases final {
 public:
  // A matrix of the model and how it will be written. Does nothing where its bias stays where it is, or there is none.
  void add(const Checkpoint& in, const Module& module, const Spelled& spelled);

  bool moves(const StoredTensor& bias) const { return moved_.contains(&bias); }
  std::vector<PlannedTensor> planned() const;
  void write(const Checkpoint& in, ShardedWriter& writer) const;

 private:
  struct Move {
    const StoredTensor* from = nullptr;
    Grid source{}, target{};  // of a column of numbers
    std::int64_t rows = 0;
    std::string to;
  };
  std::vector<Move> moves_;
  std::map<const StoredTensor*, int> moved_;
  std::map<std::string, PlannedTensor> planned_;
};

}  // namespace tessera
