// The header of a GGUF file and the blocks of its tensors. Law: a header that is taken describes bytes of the file.
#include "tessera/io/gguf.h"

#include <cstring>

#include "tessera/io/ggml_blocks.h"
#include "tests/fuzz/untrusted.h"

namespace {

using tessera::GgmlType;

void decode(const tessera::StoredTensor& tensor, std::span<const std::byte> blocks) {
  const GgmlType& type = *tessera::find_ggml_type(tensor.ggml_type);
  const auto elements = static_cast<std::size_t>(tensor.elements());
  if (!tessera::can_dequantize(type)) return;
  std::vector<float> values(elements);
  tessera::dequantize_ggml(type, blocks, values);
  if (type.name != "MXFP4" && type.name != "NVFP4") return;
  std::vector<std::byte> codes(elements / 2), scales(elements / (type.name == "MXFP4" ? 32 : 16));
  tessera::split_ggml(type, blocks, {codes, scales});
}

void check(std::string_view bytes) {
  const tessera::GgufHeader header = tessera::parse_gguf_header(
      [&](std::uint64_t begin, std::span<std::byte> into) {
        TESSERA_ASSERT(begin <= bytes.size() && into.size() <= bytes.size() - begin);
        if (!into.empty()) std::memcpy(into.data(), bytes.data() + begin, into.size());
      },
      bytes.size());
  tessera::parse_json(header.metadata.dump());
  for (const tessera::StoredTensor& tensor : header.tensors) {
    TESSERA_ASSERT(tensor.offset <= bytes.size() && tensor.bytes <= bytes.size() - tensor.offset);
    decode(tensor, tessera::bytes_of(bytes).subspan(tensor.offset, tensor.bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
