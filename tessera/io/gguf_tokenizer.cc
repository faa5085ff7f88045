#include "tessera/io/gguf_tokenizer.h"

#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/io/gguf_config.h"
#include "tessera/io/gguf_keys.h"
#include "tessera/io/gguf_pre_type.h"
#include "tessera/io/gguf_vocabulary.h"

namespace tessera {
namespace {

// What the two kinds decide and the files are made of.
struct Kind {
  Json normalizer, pre_tokenizer, post_processor, decoder;
  Json unk_token;  // of the model; null: unknown characters vanish
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
  Json merges;
  bool adds_bos = false, adds_space = false;  // by default
};

const GgufPreType& find_pre_type(std::string_view name) {
  std::vector<std::string_view> names;
  for (const GgufPreType& type : kGgufPreTypes) {
    if (type.name == name) return type;
    names.push_back(type.name);
  }
  fail(Errc::kUnsupported, "the pre type '{}' of this tokenizer (tokenizer.ggml.pre) is not known; known are: {}",
       printable(name), fmt::join(names, ", "));
}

Json special(const std::string& token, int type_id) {
  return JsonObject{{"SpecialToken", JsonObject{{"id", token}, {"type_id", type_id}}}};
}
Json sequence(const char* id, int type_id) {
  return JsonObject{{"Sequence", JsonObject{{"id", id}, {"type_id", type_id}}}};
}

// Puts the beginning and the end around each text.
Json template_processing(const std::optional<std::string>& bos, const std::optional<std::string>& eos,
                         const GgufVocabulary& vocabulary) {
  JsonArray single, pair;
  for (int type_id = 0; type_id < 2; ++type_id) {
    JsonArray part;
    if (bos) part.push_back(special(*bos, type_id));
    part.push_back(sequence(type_id == 0 ? "A" : "B", type_id));
    if (eos) part.push_back(special(*eos, type_id));
    if (type_id == 0) single = part;
    pair.insert(pair.end(), part.begin(), part.end());
  }
  Json specials = JsonObject();
  for (const std::optional<std::string>* token : {&bos, &eos})
    if (*token)
      specials.set(
          **token,
          JsonObject{{"id", **token}, {"ids", JsonArray{*vocabulary.find(**token)}}, {"tokens", JsonArray{**token}}});
  return JsonObject{{"type", "TemplateProcessing"},
                    {"single", std::move(single)},
                    {"pair", std::move(pair)},
                    {"special_tokens", std::move(specials)}};
}

class TokenizerWriter final {
 public:
  TokenizerWriter(const Json& metadata, const Json& config)
      : metadata_(metadata), config_(config), keys_(metadata, "tokenizer.ggml.") {}

  GgufTokenizer write() {
    const std::string model = keys_.text("model").value_or("none");
    require(model == "gpt2" || model == "llama", Errc::kUnsupported,
            "the tokenizer of this GGUF file is of the kind '{}' (tokenizer.ggml.model); gpt2 and llama are known",
            printable(model));
    const GgufVocabulary vocabulary(keys_);
    const std::int64_t rows = config_.find("vocab_size")->as_int64();
    require(vocabulary.size() == rows, Errc::kCorrupt, "there are {} tokens, and the embedding has {} rows",
            vocabulary.size(), rows);
    Kind kind = model == "gpt2" ? byte_level(vocabulary) : sentencepiece(vocabulary);
    add_ends(vocabulary, kind);
    write_tokenizer(vocabulary, kind);
    write_config(vocabulary, kind);
    note_unread();
    return std::move(files_);
  }

 private:
  Kind byte_level(const GgufVocabulary& vocabulary) {
    const std::string name = keys_.text("pre").value_or("default");
    const GgufPreType& pre = find_pre_type(name);
    if (name == "default")
      files_.remarks.push_back(
          "the file does not name its pre type (tokenizer.ggml.pre); texts are cut as llama.cpp cuts them then, which "
          "may not be how the model was trained");
    const JsonArray* merges = keys_.list("merges");
    require(merges != nullptr, Errc::kCorrupt, "this GGUF file has no key {}", keys_.full("merges"));
    return {
        .normalizer = parse_json(pre.normalizer),
        .pre_tokenizer = parse_json(pre.pre_tokenizer),
        .post_processor = parse_json(pre.post_processor),
        .decoder =
            JsonObject{{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}},
        .unk_token = nullptr,
        .ignore_merges = pre.ignores_merges,
        .merges = stored_merges(*merges, vocabulary),
        .adds_bos = pre.adds_bos,
        .adds_space = keys_.boolean("add_space_prefix").value_or(false)};
  }

  Kind sentencepiece(const GgufVocabulary& vocabulary) {
    (void)keys_.text("pre");  // ggml has one way for this kind
    const bool adds_space = keys_.boolean("add_space_prefix").value_or(true);
    require(!keys_.boolean("remove_extra_whitespaces").value_or(false), Errc::kUnsupported,
            "{} is set: not known for the kind llama", keys_.full("remove_extra_whitespaces"));
    require(keys_.list("precompiled_charsmap") == nullptr, Errc::kUnsupported,
            "{} holds a normalizer: not known for the kind llama", keys_.full("precompiled_charsmap"));
    const JsonArray* merges = keys_.list("merges");
    require(vocabulary.has_scores() || merges != nullptr, Errc::kUnsupported,
            "the tokenizer has neither scores nor merges, so nothing says which tokens a text has");
    const Json replace = parse_json(R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})");
    const Json prepend = parse_json(R"({"type":"Prepend","prepend":"▁"})");
    JsonArray decoders{parse_json(R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})"),
                       parse_json(R"({"type":"ByteFallback"})"), parse_json(R"({"type":"Fuse"})")};
    if (adds_space) decoders.push_back(parse_json(R"({"type":"Strip","content":" ","start":1,"stop":0})"));
    const std::optional<std::string> unknown = token_of(vocabulary, "unknown_token_id");
    return {.normalizer = adds_space
                              ? Json(JsonObject{{"type", "Sequence"}, {"normalizers", JsonArray{prepend, replace}}})
                              : replace,
            .pre_tokenizer = nullptr,
            .post_processor = nullptr,
            .decoder = JsonObject{{"type", "Sequence"}, {"decoders", std::move(decoders)}},
            .unk_token = unknown ? Json(*unknown) : Json(),
            .fuse_unk = true,
            .byte_fallback = has_bytes(vocabulary),
            .merges = vocabulary.has_scores() ? merges_from_scores(vocabulary) : stored_merges(*merges, vocabulary),
            .adds_bos = true,
            .adds_space = adds_space};
  }

  static bool has_bytes(const GgufVocabulary& vocabulary) {
    for (std::int64_t id = 0; id < vocabulary.size(); ++id)
      if (vocabulary.type(id) == TokenType::kByte) return true;
    return false;
  }

  std::optional<std::string> token_of(const GgufVocabulary& vocabulary, std::string_view key) {
    const std::optional<std::int64_t> id = keys_.integer(key);
    if (!id) return std::nullopt;
    require(*id >= 0 && *id < vocabulary.size(), Errc::kCorrupt, "{} is {}, and there are {} tokens", keys_.full(key),
            *id, vocabulary.size());
    return vocabulary.token(*id);
  }
  std::string required_token(const GgufVocabulary& vocabulary, std::string_view key) {
    const std::optional<std::string> token = token_of(vocabulary, key);
    require(token.has_value(), Errc::kCorrupt, "the tokenizer puts a token around texts, and the key {} is absent",
            keys_.full(key));
    return *token;
  }

  void add_ends(const GgufVocabulary& vocabulary, Kind& kind) {
    adds_bos_ = keys_.boolean("add_bos_token").value_or(kind.adds_bos);
    adds_eos_ = keys_.boolean("add_eos_token").value_or(false);
    if (!adds_bos_ && !adds_eos_) return;
    std::optional<std::string> bos, eos;
    if (adds_bos_) bos = required_token(vocabulary, "bos_token_id");
    if (adds_eos_) eos = required_token(vocabulary, "eos_token_id");
    Json ends = template_processing(bos, eos, vocabulary);
    if (kind.post_processor.is_null())
      kind.post_processor = std::move(ends);
    else
      kind.post_processor =
          JsonObject{{"type", "Sequence"}, {"processors", JsonArray{kind.post_processor, std::move(ends)}}};
  }

  void write_tokenizer(const GgufVocabulary& vocabulary, Kind& kind) {
    JsonObject model{{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", kind.unk_token},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr},
                     {"fuse_unk", kind.fuse_unk},
                     {"byte_fallback", kind.byte_fallback},
                     {"ignore_merges", kind.ignore_merges}};
    model.emplace_back("vocab", vocabulary.vocab());
    model.emplace_back("merges", std::move(kind.merges));
    JsonObject tokenizer{{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", vocabulary.added_tokens()},
                         {"normalizer", kind.normalizer},
                         {"pre_tokenizer", kind.pre_tokenizer},
                         {"post_processor", kind.post_processor},
                         {"decoder", kind.decoder}};
    tokenizer.emplace_back("model", std::move(model));
    files_.tokenizer_json = Json(std::move(tokenizer)).dump();
    files_.tokenizer_json += '\n';
  }

  // PreTrainedTokenizerFast: a class of its own would be built again from vocabulary and merges, with its own steps.
  void write_config(const GgufVocabulary& vocabulary, const Kind& kind) {
    JsonObject config{{"add_bos_token", adds_bos_}};
    if (adds_eos_) config.emplace_back("add_eos_token", true);
    config.emplace_back("add_prefix_space", kind.adds_space);
    const auto add_token = [&](const char* name, std::string_view key) {
      if (const std::optional<std::string> token = token_of(vocabulary, key)) config.emplace_back(name, *token);
    };
    add_token("bos_token", "bos_token_id");
    config.emplace_back("clean_up_tokenization_spaces", false);
    add_token("eos_token", "eos_token_id");
    config.emplace_back("model_max_length", *config_.find("max_position_embeddings"));
    add_token("pad_token", "padding_token_id");
    config.emplace_back("tokenizer_class", "PreTrainedTokenizerFast");
    add_token("unk_token", "unknown_token_id");
    config.emplace_back("vocab_size", vocabulary.size());
    GgufKeys templates(metadata_, "tokenizer.chat_template");
    files_.chat_template = templates.text("").value_or("");
    if (!files_.chat_template.empty()) config.emplace_back("chat_template", files_.chat_template);
    for (const std::string& key : templates.unread())
      files_.remarks.push_back(fmt::format("the key {} is another chat template; the folder has one", printable(key)));
    files_.tokenizer_config_json = config_text(std::move(config));
  }

  void note_unread() {
    for (const char* known : {"merges", "token_type_count", "eot_token_id"}) keys_.mark_read(known);
    for (const std::string& key : keys_.unread())
      files_.remarks.push_back(fmt::format("the key {} has no place in the tokenizer's files", printable(key)));
  }

  const Json& metadata_;
  const Json& config_;
  GgufKeys keys_;
  bool adds_bos_ = false, adds_eos_ = false;
  GgufTokenizer files_;
};

}  // namespace

GgufTokenizer make_gguf_tokenizer(const Json& metadata, const Json& config) {
  return TokenizerWriter(metadata, config).write();
}

}  // namespace tessera
