// RequestFields: reads the parameters of a request by name and refuses, by name, what is wrong with them. null is as
// absent. Whoever has read all that it knows calls refuse_rest().
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/json.h"

namespace tessera::server {

class RequestFields final {
 public:
  // body: an object; has to outlive this. path: of the object within the request, "" or "stream_options."
  explicit RequestFields(const Json& body, std::string path = "") : body_(body), path_(std::move(path)) {}

  const Json* find(std::string_view name);  // null: absent
  std::optional<bool> boolean(std::string_view name);
  struct Numbers {
    double lowest, highest;
  };
  std::optional<double> number(std::string_view name, Numbers range);
  struct Whole {
    std::int64_t lowest, highest;
  };
  std::optional<std::int64_t> whole(std::string_view name, Whole range);
  std::optional<std::string> text(std::string_view name);
  const Json& required(std::string_view name);  // missing_required_parameter
  const Json* object(std::string_view name);    // null: absent

  // Parameters of the API that cannot change the answer here: any value is taken.
  void ignore(std::initializer_list<std::string_view> names);
  // Parameters that are not offered: only null, or what says the same as nothing.
  void refuse_unless(std::string_view name, const Json& neutral, std::string_view why);
  // unknown_parameter for a name that nothing asked for.
  void refuse_rest() const;

  std::string path_of(std::string_view name) const { return path_ + std::string(name); }

 private:
  const Json& body_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace tessera::server
