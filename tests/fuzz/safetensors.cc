// The header of a safetensors file. Laws: a header that is taken describes bytes of the file, each once.
#include "tessera/io/safetensors.h"

#include <algorithm>

#include "tests/fuzz/untrusted.h"

namespace {

void check(std::string_view bytes) {
  const auto first = tessera::bytes_of(bytes.substr(0, 8));
  const std::uint64_t length = tessera::read_header_length(first, bytes.size());
  const tessera::SafetensorsHeader header = tessera::parse_safetensors_header(bytes.substr(8, length), bytes.size());
  std::uint64_t described = header.data_begin;
  for (const tessera::StoredTensor& tensor : header.tensors) {
    TESSERA_ASSERT(tensor.offset >= header.data_begin && tensor.bytes <= bytes.size() - tensor.offset);
    TESSERA_ASSERT(tensor.elements() >= 0);
    described += tensor.bytes;
  }
  TESSERA_ASSERT(described == bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return tessera::fuzz::answer(data, size, check);
}
