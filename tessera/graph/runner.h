// Runner: runs a plan for any number of rows up to its capacity, in one arena that is allocated once.
#pragma once
#include <map>
#include <string>

#include "tessera/graph/plan.h"

namespace tessera::graph {

// What stands for a graph's inputs and states in one run, by name.
struct Bindings {
  std::map<std::string, Tensor, std::less<>> inputs;  // [rows, width] of the declared type
  std::map<std::string, State*, std::less<>> states;
};

class Runner final {
 public:
  // Throws kResource, saying how much the arena takes.
  Runner(const Plan& plan, std::int64_t capacity);

  std::int64_t capacity() const { return capacity_; }
  std::size_t arena_bytes() const { return arena_.bytes(); }
  void fill_arena(std::byte with);  // for tests: what is never written shows

  // Throws kShape for inputs that do not fit, kNotFound for one that is not bound; and what ops throw.
  void run(Stream& stream, std::int64_t rows, const Bindings& bindings);
  // [rows, width] of the last run; valid until the next one.
  Tensor output(std::string_view name) const;

 private:
  Tensor tensor_of(Value v, std::int64_t rows) const;
  void run_region(Stream& stream, const PlanStep& step);
  void run_opaque(Stream& stream, const PlanStep& step);

  const Plan& plan_;
  std::int64_t capacity_ = 0, rows_ = 0;
  Buffer arena_;
  const Bindings* bindings_ = nullptr;  // during a run
};

}  // namespace tessera::graph
