#include "tessera/infer/server/api_error.h"

#include "tessera/base/utf8.h"

namespace tessera::server {
namespace {

constexpr std::string_view kRequest = "invalid_request_error", kServer = "server_error";
constexpr std::size_t kShown = 200;  // bytes of a client's own text in a message

ApiError make(int status, std::string_view type, std::string_view code, std::string_view param, std::string message) {
  return {status, std::string(type), std::string(code), std::string(param), std::move(message)};
}
Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Json ApiError::body() const {
  return JsonObject{
      {"error",
       JsonObject{
           {"message", message_}, {"type", type_}, {"param", text_or_null(param_)}, {"code", text_or_null(code_)}}}};
}

ApiError unknown_model(std::string_view asked, std::string_view served) {
  return make(404, kRequest, "model_not_found", "model",
              fmt::format("The model '{}' does not exist; loaded: {}", printable(asked, kShown), served));
}
ApiError wrong_key() { return make(401, kRequest, "invalid_api_key", "", "Incorrect API key"); }
ApiError unknown_route(std::string_view method, std::string_view path) {
  return make(404, kRequest, "unknown_url", "",
              fmt::format("No route {} {}", printable(method, kShown), printable(path, kShown)));
}
ApiError wrong_method(std::string_view allowed, std::string_view path) {
  return make(405, kRequest, "method_not_allowed", "", fmt::format("Use {} for {}", allowed, printable(path, kShown)));
}
ApiError body_too_large(std::uint64_t limit) {
  const std::string size =
      limit % (1u << 20) == 0 ? fmt::format("{} MiB", limit >> 20) : fmt::format("{} bytes", limit);
  return make(413, kRequest, "request_too_large", "", fmt::format("The body has more than {}", size));
}
ApiError queue_full(std::int64_t limit) {
  return make(429, "rate_limit_error", "queue_full", "", fmt::format("The queue of {} requests is full", limit));
}
ApiError shutting_down() { return make(503, kServer, "shutting_down", "", "The server is shutting down"); }
ApiError internal_error() { return make(500, kServer, "internal_error", "", "Internal error"); }

}  // namespace tessera::server
