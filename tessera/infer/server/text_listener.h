// TextListener: makes text of the tokens that the batcher writes, ends it at a stop string, and hands it on.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tessera/infer/batcher.h"
#include "tessera/infer/server/text_queue.h"
#include "tessera/infer/server/token_text.h"
#include "tessera/infer/stop_text.h"
#include "tessera/text/decode_stream.h"

namespace tessera::server {

struct ListenerOptions {
  std::size_t choice = 0;
  std::vector<std::string> stops{};
  bool tells_tokens = false;
};

class TextListener final : public BatchListener {
 public:
  TextListener(const TokenText& tokens, std::shared_ptr<TextQueue> queue, ListenerOptions options);

  void on_prompt_token(const BatchToken& token) override;
  bool on_token(const BatchToken& token) override;
  void on_end(BatchEnd end, const Error* error) override;

 private:
  ToldToken told(const BatchToken& token) const;
  void give(std::string text);
  void send(std::optional<TextEnd> end);

  const TokenText& tokens_;
  std::shared_ptr<TextQueue> queue_;
  ListenerOptions options_;
  DecodeStream stream_;
  StopText stop_;
  struct Pending {
    ToldToken token;
    std::size_t begin;  // bytes of text before it
  };
  std::deque<Pending> pending_;          // whose text has not come out
  std::size_t decoded_ = 0, given_ = 0;  // bytes
  std::int64_t characters_ = 0, written_ = 0;
  TextEvent event_;  // that is being put together
};

}  // namespace tessera::server
