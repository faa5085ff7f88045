// Metrics: what a server has done, as Prometheus reads it. Any thread.
// Source: Prometheus exposition format 0.0.4. docs/guide/serve.md names them all.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "tessera/infer/batcher.h"

namespace tessera::server {

class Metrics final {
 public:
  void count_status(int status);
  void count_cancelled();
  void add_first_token(double seconds);  // from a request's arrival to its first text
  void add_answer(double seconds);       // to its end

  std::string text(const BatchStats& batch) const;
  Json json(const BatchStats& batch) const;  // the sums, for the command's own answer

 private:
  struct Sum {
    double seconds = 0;
    std::uint64_t count = 0;
    void add(double more) {
      seconds += more;
      ++count;
    }
  };
  mutable std::mutex mutex_;
  std::map<int, std::uint64_t> statuses_;
  std::uint64_t cancelled_ = 0;
  Sum first_token_, answer_;
};

}  // namespace tessera::server
