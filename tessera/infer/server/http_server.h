// HttpServer: HTTP/1.1 for an Api. A thread for each connection, so many at once; a connection has a deadline for each
// request, and bounds for its headers and body, since whatever comes over it may be hostile.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tessera/infer/server/api.h"

namespace tessera::server {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                       // 0: a free one
  std::uint64_t body_bytes = 16u << 20;  // at most
  std::int64_t connections = 512;        // that are answered at once
  double request_seconds = 60;           // for a request to arrive
  double write_seconds = 30;             // for a client to take what it is sent
};

class HttpServer final {
 public:
  // Listens. Throws kInvalid for a host or port that cannot be had.
  HttpServer(Api& api, const HttpOptions& options);
  ~HttpServer();  // as stop()

  int port() const;
  // Takes no more connections, lets the answers that are on their way out for `seconds` at most, and closes.
  void stop(double seconds);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tessera::server
