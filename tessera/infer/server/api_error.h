// ApiError: why a request over HTTP is refused, as a client of the API is told. It is not tessera's Error, which people
// read: programs choose what to do by the status, the type, the code and the name of the parameter.
// Source: the error object of OpenAI's API; docs/guide/serve.md lists what there is.
#pragma once
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/json.h"

namespace tessera::server {

class ApiError final : public std::exception {
 public:
  // param, code: empty is null.
  ApiError(int status, std::string type, std::string code, std::string param, std::string message)
      : status_(status),
        type_(std::move(type)),
        code_(std::move(code)),
        param_(std::move(param)),
        message_(std::move(message)) {}

  int status() const noexcept { return status_; }
  const std::string& type() const noexcept { return type_; }
  const std::string& code() const noexcept { return code_; }
  const std::string& param() const noexcept { return param_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }
  Json body() const;  // {"error": {"message", "type", "param", "code"}}

 private:
  int status_;
  std::string type_, code_, param_, message_;
};

// A request that is wrong in itself: 400, invalid_request_error.
template <class... Args>
[[noreturn]] void refuse(std::string_view code, std::string_view param, fmt::format_string<Args...> text,
                         Args&&... args) {
  throw ApiError(400, "invalid_request_error", std::string(code), std::string(param),
                 fmt::format(text, std::forward<Args>(args)...));
}

ApiError unknown_model(std::string_view asked, std::string_view served);
ApiError wrong_key();
ApiError unknown_route(std::string_view method, std::string_view path);
ApiError wrong_method(std::string_view allowed, std::string_view path);
ApiError body_too_large(std::uint64_t limit);
ApiError queue_full(std::int64_t limit);
ApiError shutting_down();
ApiError internal_error();  // tells nothing: the reason is in the log

}  // namespace tessera::server
