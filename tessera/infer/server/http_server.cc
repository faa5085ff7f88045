#include "tessera/infer/server/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "tessera/base/log.h"

namespace tessera::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kHeaderBytes = 64u << 10;
constexpr int kRequestsOfConnection = 10000;
constexpr int kBacklog = 512;  // connections that the system keeps waiting; the library asks for 5
constexpr int kPollMilliseconds = 100;
constexpr double kIdleSeconds = 10;  // between two requests of a connection
constexpr double kLingerSeconds = 2;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// One connection, as the library reads and writes it. Bounds the bytes and the time of each request.
class Connection final : public httplib::Stream {
 public:
  Connection(int socket, const HttpOptions& options, const std::atomic<bool>& is_closing)
      : socket_(socket), options_(options), is_closing_(is_closing) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  // Waits for the first byte of a request.
  bool await_request() {
    left_ = kHeaderBytes + options_.body_bytes + options_.body_bytes / 4;  // a chunk's head for a few bytes each
    if (begin_ < end_) {
      deadline_ = after(options_.request_seconds);
      return true;
    }
    deadline_ = after(kIdleSeconds);
    if (!wait(POLLIN, true)) return false;
    deadline_ = after(options_.request_seconds);
    return true;
  }

  // The client has closed its side, or the connection is broken.
  bool is_gone() const {
    if (begin_ < end_) return false;
    char byte = 0;
    const ssize_t n = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) || is_closing_;
  }

  bool closes = false;  // after this answer: what follows in the stream is unknown

  bool is_readable() const override { return begin_ < end_ || wait(POLLIN, false); }
  bool is_writable() const override { return !is_gone(); }

  ssize_t read(char* out, std::size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    const std::size_t n = std::min({size, end_ - begin_, static_cast<std::size_t>(left_)});
    if (n == 0) return -1;
    std::memcpy(out, buffer_ + begin_, n);
    begin_ += n;
    left_ -= n;
    return static_cast<ssize_t>(n);
  }

  ssize_t write(const char* data, std::size_t size) override {
    deadline_ = after(options_.write_seconds);
    while (wait(POLLOUT, false)) {
      const ssize_t n = ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) return n;
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) break;
    }
    closes = true;
    return -1;
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "-";  // nothing here depends on who it is
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override { get_remote_ip_and_port(ip, port); }
  // For the library's select() alone, which takes no numbers above 1023; here is poll().
  socket_t socket() const override { return -1; }

 private:
  // For `events`, until the deadline, the server's end, or the end of an idle time that the server cuts short.
  bool wait(short events, bool is_idle) const {
    while (!is_closing_ && Clock::now() < deadline_) {
      pollfd poll{.fd = socket_, .events = events, .revents = 0};
      const int ready = ::poll(&poll, 1, kPollMilliseconds);
      if (ready > 0) return (poll.revents & events) != 0 || !is_idle;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }
  bool fill() {
    if (!wait(POLLIN, false)) return false;
    const ssize_t n = ::recv(socket_, buffer_, sizeof buffer_, 0);
    if (n <= 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(n);
    return true;
  }

  int socket_;
  const HttpOptions& options_;
  const std::atomic<bool>& is_closing_;
  Clock::time_point deadline_{};
  std::uint64_t left_ = 0;  // bytes that the request may still have
  std::size_t begin_ = 0, end_ = 0;
  char buffer_[8192];
};

// The connection that this thread serves: the library's handlers are not told.
thread_local Connection* t_connection = nullptr;

// A thread for each connection, up to a limit; others wait for one to end. The system keeps the stacks of threads that
// ended for the next ones, so that memory follows what is going on and not what once was.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::int64_t most) : most_(most) {}

  void enqueue(std::function<void()> serve) override {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(std::move(serve));
    if (state_->running == most_) return;
    try {
      std::thread([state = state_] { run(*state); }).detach();
      ++state_->running;
    } catch (const std::system_error& e) {  // it waits, as beyond the limit
      log_message(LogLevel::kError, "no thread for a connection: {}", e.what());
    }
  }
  void shutdown() override {
    std::unique_lock lock(state_->mutex);
    state_->ended.wait(lock, [this] { return state_->running == 0; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable ended;
    std::deque<std::function<void()>> waiting;
    std::int64_t running = 0;
  };
  static void run(State& state) {
    std::unique_lock lock(state.mutex);
    while (!state.waiting.empty()) {
      const std::function<void()> serve = std::move(state.waiting.front());
      state.waiting.pop_front();
      lock.unlock();
      serve();
      lock.lock();
    }
    --state.running;
    state.ended.notify_all();
  }
  std::int64_t most_;
  std::shared_ptr<State> state_ = std::make_shared<State>();  // outlives this: of the last thread to end, too
};

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
}

void set_reply(httplib::Response& response, ApiReply reply) {
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  response.set_content(reply.body, reply.type);
}

}  // namespace

class HttpServer::Listener final : private httplib::Server {
 public:
  Listener(Api& api, HttpOptions options) : api_(api), options_(std::move(options)) {
    using Handled = httplib::Server::HandlerResponse;
    set_pre_routing_handler([this](const httplib::Request& q, httplib::Response& r) {
      return answer_early(q, r) ? Handled::Handled : Handled::Unhandled;
    });
    Post("/.*", [this](const httplib::Request& q, httplib::Response& r, const httplib::ContentReader& reader) {
      answer_body(q, r, reader);
    });
    // What the library refuses by itself: a malformed head.
    set_error_handler(httplib::Server::HandlerWithResponse([this](const httplib::Request&, httplib::Response& r) {
      if (!r.body.empty() || r.status == 499) return Handled::Unhandled;
      t_connection->closes = true;
      set_reply(r, api_.reply(ApiError(r.status, "invalid_request_error", "", "", "The request is not HTTP/1.1")));
      return Handled::Handled;
    }));
    set_exception_handler([this](const httplib::Request& q, httplib::Response& r, std::exception_ptr thrown) {
      answer_exception(q, r, std::move(thrown));
    });
    set_post_routing_handler([](const httplib::Request&, httplib::Response& r) {
      r.headers.erase("Keep-Alive");
      r.headers.erase("Accept-Ranges");
      if (t_connection->closes && !r.has_header("Connection")) r.set_header("Connection", "close");
    });
    set_socket_options([](socket_t socket) {  // the library's would share the port with another server
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    new_task_queue = [most = options_.connections] { return std::make_unique<ConnectionThreads>(most).release(); };
    port_ = options_.port == 0 ? bind_to_any_port(options_.host) : options_.port;
    const bool bound = options_.port == 0 ? port_ > 0 : bind_to_port(options_.host, options_.port);
    require(bound, Errc::kInvalid, "cannot listen at {}:{}: {}", options_.host, options_.port, std::strerror(errno));
    ::listen(svr_sock_, kBacklog);
    thread_ = std::thread([this] { listen_after_bind(); });
    while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~Listener() override { stop(0); }

  int port() const { return port_; }

  void stop(double seconds) {
    if (!thread_.joinable()) return;
    const Clock::time_point end = after(seconds);
    while (answering_ > 0 && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    is_closing_ = true;
    httplib::Server::stop();
    thread_.join();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    {
      Connection connection(socket, options_, is_closing_);
      t_connection = &connection;
      // What could make the library read or write otherwise than it is meant here.
      const auto strip = [](httplib::Request& q) {
        q.ranges.clear();
        for (const char* name : {"Range", "Accept-Encoding", "Content-Type"}) q.headers.erase(name);
      };
      bool client_closes = false;
      for (int i = 0; i < kRequestsOfConnection && !client_closes && connection.await_request(); ++i) {
        ++answering_;
        connection.closes = i + 1 == kRequestsOfConnection;
        bool answered = false;
        try {
          answered = process_request(connection, false, client_closes, strip);
        } catch (const std::exception& e) {  // the thread goes on with the next connection
          log_message(LogLevel::kError, "a connection failed: {}", e.what());
        }
        --answering_;
        if (!answered || connection.closes) break;
      }
      t_connection = nullptr;
    }
    // What the client still sends is read for a moment: closing before would take the answer from it.
    ::shutdown(socket, SHUT_WR);
    char rest[4096];
    const Clock::time_point end = after(kLingerSeconds);
    pollfd poll{.fd = socket, .events = POLLIN, .revents = 0};
    while (!is_closing_ && Clock::now() < end && ::poll(&poll, 1, kPollMilliseconds) >= 0)
      if (poll.revents != 0 && ::recv(socket, rest, sizeof rest, 0) <= 0) break;
    ::close(socket);
    return true;
  }

  static ApiRequest request_of(const httplib::Request& q) {
    return {.method = q.method, .path = q.path, .authorization = q.get_header_value("Authorization")};
  }

  bool answer_early(const httplib::Request& q, httplib::Response& r) {
    const bool has_body = q.has_header("Content-Length") || q.has_header("Transfer-Encoding");
    std::optional<ApiReply> reply = api_.answer(request_of(q));
    if (!reply) reply = refuse_head(q);
    if (!reply) return false;
    if (has_body) t_connection->closes = true;  // it is not read
    set_reply(r, std::move(*reply));
    return true;
  }

  // Bodies whose length is told in more ways than one, or that are too long.
  std::optional<ApiReply> refuse_head(const httplib::Request& q) {
    const auto refusal = [&](std::string_view message) {
      return api_.reply(ApiError(400, "invalid_request_error", "", "", std::string(message)));
    };
    const std::size_t lengths = q.get_header_value_count("Content-Length");
    const std::size_t encodings = q.get_header_value_count("Transfer-Encoding");
    if (lengths + encodings > 1) return refusal("The length of the body is told twice");
    if (encodings == 1 && ::strcasecmp(q.get_header_value("Transfer-Encoding").c_str(), "chunked") != 0)
      return refusal("Transfer-Encoding can be chunked");
    if (q.has_header("Content-Encoding")) return refusal("Content-Encoding is not offered: send the body as it is");
    if (lengths == 0) return std::nullopt;
    const std::string length = q.get_header_value("Content-Length");
    if (!is_whole_number(length)) return refusal("Content-Length is no number");
    if (std::stoull(length) > options_.body_bytes) return api_.reply(body_too_large(options_.body_bytes));
    return std::nullopt;
  }

  void answer_body(const httplib::Request& q, httplib::Response& r, const httplib::ContentReader& reader) {
    Connection& connection = *t_connection;
    std::string body;
    bool is_whole = true, is_large = false;
    const bool is_chunked = q.has_header("Transfer-Encoding");
    // A malformed chunk can end a body early: what follows is not taken for a request.
    if (is_chunked) connection.closes = true;
    if (is_chunked || q.has_header("Content-Length"))
      is_whole = reader([&](const char* data, std::size_t size) {
        is_large = size > options_.body_bytes - body.size();
        if (!is_large) body.append(data, size);
        return !is_large;
      });
    if (!is_whole) connection.closes = true;
    if (is_large) return set_reply(r, api_.reply(body_too_large(options_.body_bytes)));
    if (!is_whole)
      return set_reply(r, api_.reply(ApiError(400, "invalid_request_error", "", "", "The body ends too early")));
    ApiReply reply = api_.answer(request_of(q), body, [&] { return connection.is_gone(); });
    if (reply.status == 499) connection.closes = true;
    if (!reply.next) return set_reply(r, std::move(reply));
    stream(q, r, std::move(reply));
  }

  static void stream(const httplib::Request& q, httplib::Response& r, ApiReply reply) {
    r.status = reply.status;
    for (const auto& [name, value] : reply.headers) r.set_header(name, value);
    const auto send = [next = std::move(reply.next)](std::size_t, httplib::DataSink& sink) {
      const std::string bytes = next([] { return t_connection->is_gone(); });
      if (!bytes.empty()) return sink.write(bytes.data(), bytes.size());
      if (t_connection->is_gone()) return false;
      sink.done();
      return true;
    };
    if (q.version == "HTTP/1.0") {  // knows no chunks: the end of the connection ends the text
      t_connection->closes = true;
      r.set_content_provider(reply.type, send);
    } else {
      r.set_chunked_content_provider(reply.type, send);
    }
  }

  void answer_exception(const httplib::Request& q, httplib::Response& r, std::exception_ptr thrown) {
    t_connection->closes = true;
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const ApiError& e) {
      return set_reply(r, api_.reply(e));
    } catch (const std::exception& e) {
      log_message(LogLevel::kError, "{} {} failed: {}", q.method, q.path, e.what());
    }
    set_reply(r, api_.reply(internal_error()));
  }

  Api& api_;
  HttpOptions options_;
  int port_ = 0;
  std::atomic<bool> is_closing_{false};
  std::atomic<int> answering_{0};
  std::thread thread_;
};

HttpServer::HttpServer(Api& api, const HttpOptions& options) : listener_(std::make_unique<Listener>(api, options)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return listener_->port(); }
void HttpServer::stop(double seconds) { listener_->stop(seconds); }

}  // namespace tessera::server
