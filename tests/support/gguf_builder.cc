#include "tests/support/gguf_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/io/ggml_type.h"

namespace tessera::test {
namespace {

constexpr std::uint64_t kAlignment = 32;
constexpr std::string_view kValueTypes[] = {"UINT8", "INT8",   "UINT16", "INT16",  "UINT32", "INT32",  "FLOAT32",
                                            "BOOL",  "STRING", "ARRAY",  "UINT64", "INT64",  "FLOAT64"};

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}
void put_string(std::string& out, std::string_view text) {
  put<std::uint64_t>(out, text.size());
  out += text;
}

std::uint32_t number_of(std::string_view type) {
  const auto* place = std::find(std::begin(kValueTypes), std::end(kValueTypes), type);
  require(place != std::end(kValueTypes), Errc::kInvalid, "no value type {}", type);
  return static_cast<std::uint32_t>(place - kValueTypes);
}

void put_value(std::string& out, const std::vector<std::string>& types, std::size_t depth, const Json& value) {
  const std::string& type = types[depth];
  if (type == "UINT32") return put(out, static_cast<std::uint32_t>(value.as_uint64()));
  if (type == "INT32") return put(out, static_cast<std::int32_t>(value.as_int64()));
  if (type == "FLOAT32") return put(out, static_cast<float>(value.as_double()));
  if (type == "BOOL") return put(out, static_cast<std::uint8_t>(value.as_bool()));
  if (type == "STRING") return put_string(out, value.as_string());
  require(type == "ARRAY", Errc::kInvalid, "the builder writes no {}", type);
  put(out, number_of(types[depth + 1]));
  put<std::uint64_t>(out, value.as_array().size());
  for (const Json& item : value.as_array()) put_value(out, types, depth + 1, item);
}

const GgmlType& type_of(const BuiltTensor& tensor) {
  for (const GgmlType& type : kGgmlTypes)
    if (type.name == tensor.type) return type;
  fail(Errc::kInvalid, "no ggml type {}", tensor.type);
}
std::uint64_t bytes_of(const BuiltTensor& tensor) {
  const GgmlType& type = type_of(tensor);
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= size;
  return static_cast<std::uint64_t>(elements / type.block * type.block_bytes);
}
std::uint64_t padded(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

GgufBuilder& GgufBuilder::key(const std::string& name, const std::vector<std::string>& types, Json value) {
  for (Key& known : keys_)
    if (known.name == name) {
      known = {name, types, std::move(value)};
      return *this;
    }
  keys_.push_back({name, types, std::move(value)});
  return *this;
}

GgufBuilder& GgufBuilder::without(std::string_view name) {
  std::erase_if(keys_, [&](const Key& known) { return known.name == name; });
  std::erase_if(tensors_, [&](const BuiltTensor& known) { return known.name == name; });
  return *this;
}

GgufBuilder& GgufBuilder::tensor(BuiltTensor tensor) {
  for (BuiltTensor& known : tensors_)
    if (known.name == tensor.name) {
      known = std::move(tensor);
      return *this;
    }
  tensors_.push_back(std::move(tensor));
  return *this;
}

std::string GgufBuilder::header() const {
  std::string out = "GGUF";
  put<std::uint32_t>(out, 3);
  put<std::uint64_t>(out, tensors_.size());
  put<std::uint64_t>(out, keys_.size());
  for (const Key& known : keys_) {
    put_string(out, known.name);
    put(out, number_of(known.types[0]));
    put_value(out, known.types, 0, known.value);
  }
  std::uint64_t offset = 0;
  for (const BuiltTensor& tensor : tensors_) {
    put_string(out, tensor.name);
    put(out, static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t i = tensor.shape.size(); i-- > 0;) put(out, static_cast<std::uint64_t>(tensor.shape[i]));
    put(out, static_cast<std::uint32_t>(type_of(tensor).number));
    put(out, offset);
    offset = padded(offset + bytes_of(tensor));
  }
  out.resize(padded(out.size()));
  return out;
}

void GgufBuilder::write(const std::string& path) const {
  const File file = File::create(path);
  const std::string head = header();
  file.write(0, std::as_bytes(std::span(head.data(), head.size())));
  std::uint64_t at = head.size();
  for (const BuiltTensor& tensor : tensors_) {
    if (!tensor.bytes.empty()) file.write(at, tensor.bytes);
    at = padded(at + bytes_of(tensor));
  }
  const std::byte last{0};
  if (file.size() < at) file.write(at - 1, std::span(&last, 1));
}

std::vector<std::byte> f32_bytes(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace tessera::test
