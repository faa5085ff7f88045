#include "tessera/text/chat_template.h"

#include <filesystem>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/text/jinja/machine.h"
#include "tessera/text/jinja/parser.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxSource = std::size_t{4} << 20;  // bytes

// The template of a tokenizer_config.json, where several have names.
std::string choose_template(const Json& config, std::string_view name) {
  const Json* found = config.find("chat_template");
  require(found != nullptr && !found->is_null(), Errc::kNotFound, "there is no \"chat_template\" in it");
  if (found->is_string()) return found->as_string();
  std::string names;
  for (const Json& entry : found->as_array()) {
    const std::string known = entry.string_or("name", "");
    if (known == name) return entry.string_or("template", "");
    names.append(names.empty() ? "" : ", ").append(known);
  }
  fail(Errc::kNotFound, "no chat template '{}'; there are: {}", printable(name), names);
}

}  // namespace

struct ChatTemplate::Tree {
  jinja::Block block;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

ChatTemplate ChatTemplate::parse(std::string_view source) {
  require(source.size() <= kMaxSource, Errc::kCorrupt, "a template of {} bytes; {} are read", source.size(),
          kMaxSource);
  return ChatTemplate(std::make_unique<Tree>(Tree{jinja::parse_template(source)}));
}

ChatTemplate ChatTemplate::open(const std::string& path, std::string_view name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  std::string file = path;
  if (is_folder) {
    file = path + "/chat_template.jinja";
    if (!fs::exists(file, ignored)) file = path + "/tokenizer_config.json";
    require(fs::exists(file, ignored), Errc::kNotFound,
            "{}: there is neither a chat_template.jinja nor a tokenizer_config.json", path);
  }
  return naming_file(file, [&] {
    const std::string text = read_file(file);
    return parse(file.ends_with(".json") ? choose_template(parse_json(text), name) : text);
  });
}

RenderedTemplate ChatTemplate::render(const Json& variables, const std::tm& now, const TemplateLimits& limits) const {
  require(variables.is_object(), Errc::kInvalid, "the variables of a template are an object");
  return jinja::Machine(limits, now).render(tree_->block, variables);
}

std::tm local_time() {
  const std::time_t seconds = std::time(nullptr);
  std::tm now{};
  ::localtime_r(&seconds, &now);
  return now;
}

}  // namespace tessera
