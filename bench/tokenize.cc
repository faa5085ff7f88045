// How fast a tokenizer reads its file, encodes and decodes, on one core. Usage: bench_tokenize [MODEL [TEXT]]; default:
// SmolLM2's tokenizer and tests/data/text/inputs/prose.txt, repeated to 4 MB. Prints a table.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/text/decode_stream.h"
#include "tessera/text/tokenizer.h"

namespace tessera {
namespace {

constexpr std::size_t kLong = 4'000'000, kShort = 2'000;  // bytes: a corpus, a prompt
constexpr int kRepeats = 5;

// Of this thread's own clock: neighbours on a busy machine do not count.
double seconds_now() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The best of several runs.
double seconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const double start = seconds_now();
    work();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

void print_rate(const char* what, std::size_t bytes, double seconds) {
  std::printf("%-28s %10.3f ms %8.1f MB/s\n", what, 1e3 * seconds, 1e-6 * static_cast<double>(bytes) / seconds);
}

std::string repeated(const std::string& text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  out.resize(bytes);
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80) != 0) out.pop_back();  // whole characters
  return out;
}

int run(const std::string& model, const std::string& text_file) {
  const std::string text = repeated(read_file(text_file), kLong), prompt = text.substr(0, kShort);
  const double load = seconds_of([&] { Tokenizer::open(model); });
  const Tokenizer tokenizer = Tokenizer::open(model);
  Encoding encoding;
  const double encode = seconds_of([&] { encoding = tokenizer.encode(text); });
  const double encode_prompt = seconds_of([&] { tokenizer.encode(prompt); });
  const double decode = seconds_of([&] { tokenizer.decode(encoding.ids); });
  const std::size_t streamed = std::min<std::size_t>(encoding.ids.size(), 100'000);
  const double stream = seconds_of([&] {
    DecodeStream decoder(tokenizer);
    for (std::size_t i = 0; i < streamed; ++i) decoder.push(encoding.ids[i]);
  });
  std::printf("%zu tokens in the vocabulary, %.2f bytes a token\n", tokenizer.size(),
              static_cast<double>(text.size()) / static_cast<double>(encoding.ids.size()));
  std::printf("%-28s %10.3f ms\n", "open", 1e3 * load);
  print_rate("encode 4 MB", text.size(), encode);
  print_rate("encode 2 KB", prompt.size(), encode_prompt);
  print_rate("decode 4 MB", text.size(), decode);
  std::printf("%-28s %10.3f us a token\n", "stream", 1e6 * stream / static_cast<double>(streamed));
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  try {
    return tessera::run(argc > 1 ? argv[1] : "tests/data/gguf_import/smollm2",
                        argc > 2 ? argv[2] : "tests/data/text/inputs/prose.txt");
  } catch (const tessera::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
