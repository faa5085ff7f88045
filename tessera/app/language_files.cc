#include "tessera/app/language_files.h"

#include <filesystem>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/io/gguf_model.h"
#include "tessera/io/gguf_tokenizer.h"
#include "tessera/io/model_folder.h"
#include "tessera/text/conversation.h"

namespace tessera::app {
namespace {

namespace fs = std::filesystem;

void warn(Session& session, std::string_view code, std::string message) {
  session.warn({.code = std::string(code), .tensor = "", .message = std::move(message)});
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The folder of a .safetensors file or an index; the path itself for others.
std::string folder_or_file(const std::string& model) {
  if (!model.ends_with(".safetensors") && !model.ends_with(".safetensors.index.json")) return model;
  const std::string folder = folder_of(model);
  return folder.empty() ? "." : folder;
}

// The files that a GGUF file stands for; none for other paths.
std::optional<GgufTokenizer> open_gguf(const std::string& model, Session& session) {
  if (is_folder(model) || !model.ends_with(".gguf")) return std::nullopt;
  const Container container = Container::open(model);
  const GgufModel gguf = read_gguf_model(container);
  GgufTokenizer files = naming_file(model, [&] { return make_gguf_tokenizer(container.gguf_metadata(), gguf.config); });
  for (const std::string& remark : files.remarks) warn(session, "gguf_tokenizer", remark);
  return files;
}

Json side_json(const std::string& folder, const std::string& name) {
  const std::optional<std::string> file = resolve_member(folder, name);
  if (!file) return JsonObject{};
  return naming_file(*file, [&] { return parse_json(read_file(*file)); });
}

}  // namespace

Tokenizer open_tokenizer(const std::string& model, Session& session) {
  const std::optional<GgufTokenizer> gguf = open_gguf(model, session);
  Tokenizer tokenizer = gguf ? naming_file(model, [&] { return Tokenizer::parse(gguf->tokenizer_json); })
                             : Tokenizer::open(folder_or_file(model));
  for (const std::string& warning : tokenizer.warnings()) warn(session, "tokenizer", warning);
  return tokenizer;
}

ChatFiles open_chat(const std::string& model, Session& session) {
  if (const std::optional<GgufTokenizer> gguf = open_gguf(model, session)) {
    require(!gguf->chat_template.empty(), Errc::kNotFound, "{}: the file has no chat template", model);
    return {naming_file(model, [&] { return ChatTemplate::parse(gguf->chat_template); }),
            special_token_variables(parse_json(gguf->tokenizer_config_json))};
  }
  const std::string path = folder_or_file(model);
  const std::string folder = is_folder(path) ? path : folder_of(path);
  return {ChatTemplate::open(path),
          special_token_variables(side_json(folder.empty() ? "." : folder, "tokenizer_config.json"))};
}

}  // namespace tessera::app
