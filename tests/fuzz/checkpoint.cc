// A model of a few tensors, as dialects see it. An input is text, a line each:
//   {"quantization_config": ...}         config.json
//   @_quantization_metadata {...}        a key of the file's metadata, and its value
//   *                                    opened as a single file, not as a folder
//   blocks.0.q.weight U8 128,32 24       a tensor: name, dtype, axes ("-": none), bytes in hex that repeat
//   blocks.0.q.comfy_quant = {...}       a tensor that is a text
// Laws: whatever the tensors are called, it is a model or an Error; every quantized module that has no problem loads,
// with the extent that it says, and its first rows are the first rows of it.
#include "tessera/io/checkpoint.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/fuzz/untrusted.h"

namespace {

using tessera::Checkpoint;
using tessera::Json;
using tessera::JsonArray;
using tessera::JsonObject;
using tessera::Module;

constexpr std::size_t kMostData = 64 << 10;  // bytes of all tensors

// One folder a process, rewritten for each input.
class Folder final {
 public:
  Folder() {
    const std::filesystem::path memory = "/dev/shm";  // 30 times as fast as a disk, where there is one
    const bool has_memory = access(memory.c_str(), W_OK) == 0;
    path_ = (has_memory ? memory : std::filesystem::temp_directory_path()) / fmt::format("tessera_fuzz_{}", getpid());
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string_view next_word(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

struct Input {
  Json header = JsonObject{}, metadata = JsonObject{};
  std::set<std::string, std::less<>> names;
  std::string data, config;
  bool single_file = false;
  bool fits = true;  // the data stays small

  void add(std::string_view name, Json dtype, Json shape, std::uint64_t bytes, std::string_view fill) {
    if (name == "__metadata__" || !names.emplace(name).second) return;
    fits = fits && bytes <= kMostData - data.size();
    if (!fits) return;
    Json tensor;
    tensor.set("dtype", std::move(dtype));
    tensor.set("shape", std::move(shape));
    tensor.set("data_offsets",
               JsonArray{static_cast<std::int64_t>(data.size()), static_cast<std::int64_t>(data.size() + bytes)});
    header.as_object().emplace_back(name, std::move(tensor));
    for (std::uint64_t i = 0; i < bytes; ++i) data += fill.empty() ? '\0' : fill[i % fill.size()];
  }

  // "128,32", of a dtype; nothing where it is no such thing.
  void add_tensor(std::string_view name, std::string_view type, std::string_view axes, std::string_view hex) {
    const std::optional<tessera::DType> dtype = tessera::find_dtype(type);
    if (!dtype) return;
    Json shape = JsonArray{};
    std::vector<std::int64_t> sizes;
    while (!axes.empty() && axes != "-") {
      const std::string word(next_word(axes, ','));
      if (word.empty() || word.size() > 18 || word.find_first_not_of("0123456789") != std::string::npos) return;
      sizes.push_back(std::stoll(word));
      shape.push(sizes.back());
    }
    std::string fill;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const std::size_t high = kDigits.find(hex[i]), low = kDigits.find(hex[i + 1]);
      if (high == std::string_view::npos || low == std::string_view::npos) return;
      fill += static_cast<char>(high * 16 + low);
    }
    std::uint64_t elements = 1;
    bool empty = false;
    for (const std::int64_t n : sizes) {
      empty = empty || n == 0;
      fits = fits && (n == 0 || elements <= 2 * kMostData / static_cast<std::uint64_t>(n));
      if (fits && n > 0) elements *= static_cast<std::uint64_t>(n);
    }
    fits = fits || empty;
    const std::uint64_t bits = empty ? 0 : elements * static_cast<std::uint64_t>(tessera::dtype_bits(*dtype));
    add(name, type, std::move(shape), bits / 8, fill);
  }

  void read_line(std::string_view line) {
    if (line.starts_with('{')) {
      config = line;
    } else if (line == "*") {
      single_file = true;
    } else if (line.starts_with('@')) {
      line.remove_prefix(1);
      const std::string key(next_word(line, ' '));
      if (metadata.find(key) == nullptr) metadata.set(key, line);
    } else {
      const std::string_view name = next_word(line, ' ');
      if (line.starts_with("= ")) {
        line.remove_prefix(2);
        return add(name, "U8", JsonArray{static_cast<std::int64_t>(line.size())}, line.size(), line);
      }
      const std::string_view type = next_word(line, ' '), axes = next_word(line, ' ');
      add_tensor(name, type, axes, line);
    }
  }

  void write(const Folder& folder) {
    if (!metadata.as_object().empty()) header.set("__metadata__", std::move(metadata));
    const std::string text = header.dump();
    const std::uint64_t size = text.size();
    std::ofstream model(folder / "model.safetensors", std::ios::binary | std::ios::trunc);
    model.write(reinterpret_cast<const char*>(&size), sizeof size);
    model << text << data;
    if (config.empty())
      std::filesystem::remove(folder / "config.json");
    else
      std::ofstream(folder / "config.json", std::ios::binary | std::ios::trunc) << config;
  }
};

void check_module(const Checkpoint& model, const Module& m) {
  TESSERA_ASSERT(model.find(m.name) != nullptr && m.codes != nullptr);
  const tessera::Reading& r = m.reading;
  if (!r.complaints.empty()) return;
  m.bytes();
  if (!m.is_quantized()) {
    if (m.is_matrix()) model.load_dense_rows(m, 0, r.extent.rows);
    return;
  }
  try {
    const tessera::QuantizedTensor q = model.load(m);
    TESSERA_ASSERT(q.extent == r.extent);
    const std::int64_t step = std::min(block_in(r.format, r.extent).rows, r.extent.rows);
    const tessera::QuantizedTensor first = model.load_rows(m, 0, step);
    const auto part = first.codes.span(), all = q.codes.span();
    TESSERA_ASSERT(part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin()));
  } catch (const tessera::Error& e) {
    TESSERA_ASSERT(!e.tensor().empty());  // damaged scales, by name
  }
}

void check(std::string_view text) {
  static const Folder folder;
  Input input;
  while (!text.empty()) input.read_line(next_word(text, '\n'));
  if (!input.fits) return;
  input.write(folder);
  const Checkpoint model = Checkpoint::open(input.single_file ? folder / "model.safetensors" : folder.path());
  for (const tessera::Problem& p : model.problems()) TESSERA_ASSERT(!p.message.empty());
  for (const tessera::StoredTensor& t : model.container().tensors()) model.place(t);
  for (const Module& m : model.modules()) check_module(model, m);
  for (const tessera::Bank& bank : model.banks()) TESSERA_ASSERT(bank.experts > 0 && !bank.parts.empty());
  model.require_usable();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
