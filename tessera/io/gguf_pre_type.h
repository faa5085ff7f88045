// How texts are cut into words before byte-level BPE: what a GGUF file names in `tokenizer.ggml.pre`, as the steps of
// tokenizer.json. The file holds a name alone, so a name that is not here cannot be imported.
// Source: llama.cpp, llama-vocab.cpp; the patterns are checked by ids in fixtures text/tokenizers (llama_cpp.json). The
// steps of `default` are those of llama.cpp for files from before there were names; no model was trained with them.
#pragma once
#include <array>
#include <string_view>

namespace tessera {

struct GgufPreType {
  std::string_view name;
  std::string_view normalizer, pre_tokenizer, post_processor;  // JSON
  bool ignores_merges = false;                                 // a word that is a token is that token
  bool adds_bos = false;                                       // where tokenizer.ggml.add_bos_token is absent
};

namespace pre_steps {
inline constexpr std::string_view kGpt2 =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
inline constexpr std::string_view kGpt2Post =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true})";
inline constexpr std::string_view kDigits =
    R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})";
inline constexpr std::string_view kLlama3 =
    R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
    R"([^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)"
    R"("behavior":"Isolated","invert":false},)"
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";
inline constexpr std::string_view kLlama3Post =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
inline constexpr std::string_view kQwen2 =
    R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
    R"([^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)"
    R"("behavior":"Isolated","invert":false},)"
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]})";
inline constexpr std::string_view kDefault =
    R"j({"type":"Sequence","pretokenizers":[)j"
    R"j({"type":"Split","pattern":{"Regex":"[\\p{P}\\$\\+<=>\\^~\\|]+"},"behavior":"Isolated","invert":false},)j"
    R"j({"type":"Split","pattern":{"Regex":"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|)j"
    R"j(\\s+(?!\\S)"},"behavior":"Isolated","invert":false},)j"
    R"j({"type":"Split","pattern":{"Regex":"\\p{N}+"},"behavior":"Isolated","invert":false},)j"
    R"j({"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false},)j"
    R"j({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})j";
}  // namespace pre_steps

inline constexpr std::array<GgufPreType, 7> kGgufPreTypes{{
    {"gpt-2", "null", pre_steps::kGpt2, pre_steps::kGpt2Post},
    {"smollm", "null", pre_steps::kDigits, "null"},
    {"starcoder", "null", pre_steps::kDigits, "null"},
    {"llama-bpe", "null", pre_steps::kLlama3, pre_steps::kLlama3Post, true, true},
    {"llama3", "null", pre_steps::kLlama3, pre_steps::kLlama3Post, true, true},
    {"qwen2", R"({"type":"NFC"})", pre_steps::kQwen2, pre_steps::kGpt2Post},
    {"default", "null", pre_steps::kDefault, "null"},
}};

}  // namespace tessera
