// Copies of models with some of their bytes changed: the damaged files of reports, made from undamaged ones.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tessera/kernels/quantize.h"
#include "tests/support/model_builder.h"

namespace tessera::test {

struct EditedTensor {
  std::string name;
  DType dtype;
  Shape shape;
  std::vector<std::uint8_t> bytes;
  bool kept = true;
};

// Every tensor of the folder after `edit`, and its config.json and hf_quant_config.json after `edit_text`. Metadata is
// left behind.
inline ModelBuilder copy_of(const std::string& folder, const std::function<void(EditedTensor&)>& edit,
                            const std::function<std::string(std::string)>& edit_text = {}) {
  const Checkpoint from = Checkpoint::open(folder);
  ModelBuilder b;
  for (const StoredTensor& t : from.container().tensors()) {
    const std::vector<std::byte> stored = from.container().read_all(t);
    EditedTensor e{t.name, t.dtype, t.shape, {}};
    for (const std::byte byte : stored) e.bytes.push_back(std::to_integer<std::uint8_t>(byte));
    edit(e);
    if (e.kept) b.bytes(e.name, e.dtype, e.shape, e.bytes);
  }
  for (const char* name : {"config.json", "hf_quant_config.json"}) {
    const std::string text = read_side_file(folder, name);
    if (!text.empty()) b.file(name, edit_text ? edit_text(text) : text);
  }
  return b;
}

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace tessera::test
