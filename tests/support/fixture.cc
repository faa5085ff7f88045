#include "tests/support/fixture.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/io/container.h"

namespace tessera::test {

const Tensor& Fixture::at(const std::string& name) const {
  const auto it = tensors.find(name);
  require(it != tensors.end(), Errc::kNotFound, "the fixture has no tensor '{}'", name);
  return it->second;
}

std::vector<std::string> Fixture::cases() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors)
    if (name.ends_with(".input")) names.push_back(name.substr(0, name.size() - 6));
  return names;
}

Fixture read_fixture(const std::string& path) {
  const Container container = Container::open(std::string(TESSERA_TEST_DATA) + "/" + path);
  Fixture fixture;
  for (const ContainerFile& file : container.files())
    fixture.metadata.insert(file.metadata.begin(), file.metadata.end());
  for (const StoredTensor& stored : container.tensors()) {
    Tensor tensor(stored.dtype, stored.shape);
    container.read(stored, 0, tensor.span());
    fixture.tensors.emplace(stored.name, std::move(tensor));
  }
  return fixture;
}

std::int64_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return x == a.end() && y == b.end() ? -1 : x - a.begin();
}

}  // namespace tessera::test
