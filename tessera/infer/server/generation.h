// Generation: the texts of one request while the batcher writes them. What is not finished when it ends is cancelled.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/infer/batcher.h"
#include "tessera/infer/server/metrics.h"
#include "tessera/infer/server/text_listener.h"

namespace tessera::server {

class Generation final {
 public:
  struct Text {
    BatchRequest request;
    ListenerOptions listening;
  };
  // Throws ApiError: the queue is full, or the server shuts down; then nothing of the request runs.
  Generation(Batcher& batcher, Metrics& metrics, const TokenText& tokens, std::vector<Text> texts);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  bool is_finished() const { return left_ == 0; }
  // The next event. None: the client is gone.
  std::optional<TextEvent> next(const std::function<bool()>& is_gone);

 private:
  void cancel();

  Batcher& batcher_;
  Metrics& metrics_;
  std::shared_ptr<TextQueue> queue_ = std::make_shared<TextQueue>();
  std::vector<std::uint64_t> tickets_;
  std::size_t left_;  // texts that have not ended
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool has_text_ = false, is_cancelled_ = false;
};

}  // namespace tessera::server
