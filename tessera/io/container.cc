#include "tessera/io/container.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/io/amendment.h"
#include "tessera/io/gguf.h"
#include "tessera/io/model_folder.h"
#include "tessera/io/safetensors.h"
#include "tessera/io/shard_index.h"

namespace tessera {

struct Container::Impl {
  Kind kind = Kind::kFolder;
  std::string path, folder;
  std::vector<File> handles;  // as files
  std::vector<ContainerFile> files;
  std::vector<StoredTensor> tensors;
  Json gguf_metadata = JsonObject();
  std::vector<ContainerWarning> warnings;

  mutable std::mutex mapping;
  mutable std::vector<std::optional<MappedFile>> maps;  // as files; under `mapping`

  // Of an amended container: what it amends, and the tensors that are not read from there as they stand.
  std::shared_ptr<const Container> from;
  std::map<std::string, AmendedTensor, std::less<>> replaced;
  mutable std::map<std::string, std::vector<std::byte>, std::less<>> copies;  // of mapped ones; under `mapping`

  void warn(std::string_view code, std::string_view tensor, std::string message) {
    warnings.push_back({std::string(code), std::string(tensor), std::move(message)});
  }
  void add_safetensors(const std::string& file);
  void add_gguf(const std::string& file);
  void add_folder();
  void add_index(const std::string& name);
  void check_index(const ShardIndex& index, const std::string& index_path);
  void sort_tensors();
  const StoredTensor* find(std::string_view name) const;

 private:
  void add_tensors(std::vector<StoredTensor> more);
  std::string existing_member(const std::string& name) const;
};

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestIndex = 64u << 20;  // bytes; 30 000 tensors take 3 MB

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

// What a file is, when its name does not say: pickles are told apart from safetensors, whose first bytes are a length.
enum class Signature : std::uint8_t { kNone, kGguf, kZip };
Signature read_signature(const std::string& path) {
  std::array<char, 4> first{};
  File::open(path).read_up_to(0, std::as_writable_bytes(std::span(first)));
  const std::string_view magic(first.data(), first.size());
  if (magic == "GGUF") return Signature::kGguf;
  return magic == "PK\x03\x04" ? Signature::kZip : Signature::kNone;
}

}  // namespace

void Container::Impl::add_tensors(std::vector<StoredTensor> more) {
  for (StoredTensor& tensor : more) {
    tensor.file = static_cast<std::uint32_t>(files.size() - 1);
    tensors.push_back(std::move(tensor));
  }
}

void Container::Impl::add_safetensors(const std::string& file) {
  handles.push_back(File::open(file));
  SafetensorsHeader header = read_safetensors_header(handles.back());
  files.push_back({file, handles.back().size(), std::move(header.metadata)});
  add_tensors(std::move(header.tensors));
}

void Container::Impl::add_gguf(const std::string& file) {
  handles.push_back(File::open(file));
  GgufHeader header = read_gguf_header(handles.back());
  files.push_back({file, handles.back().size(), {}});
  gguf_metadata = std::move(header.metadata);
  add_tensors(std::move(header.tensors));
  if (const Json* parts = gguf_metadata.find("split.count"); parts && parts->is_integer() && parts->as_double() > 1)
    warn("split_gguf", "",
         fmt::format("{} is one of {} parts, and only its tensors are seen", file, parts->as_double()));
}

std::string Container::Impl::existing_member(const std::string& name) const {
  std::optional<std::string> file = resolve_member(folder, name);
  if (!file) fail_file(Errc::kNotFound, join_path(folder, name), "there is no file " + join_path(folder, name));
  return *file;
}

void Container::Impl::add_folder() {
  if (const std::optional<std::string> index = find_index(folder)) return add_index(*index);
  const std::vector<std::string> names = list_safetensors(folder);
  if (names.empty())
    fail_file(Errc::kNotFound, path, fmt::format("{} has no *.safetensors file: it is no model folder", path));
  for (const std::string& name : names) add_safetensors(existing_member(name));
  sort_tensors();
}

void Container::Impl::add_index(const std::string& name) {
  const std::string index_path = join_path(folder, name);
  const ShardIndex index =
      naming_file(index_path, [&] { return parse_shard_index(read_side_file(folder, name, kLargestIndex)); });
  try {
    for (const std::string& shard : index.files) add_safetensors(existing_member(shard));
  } catch (Error& e) {
    e.add_note("reading the shards that " + index_path + " names");
    throw;
  }
  sort_tensors();
  check_index(index, index_path);
}

// Every tensor of the map is in the file that the map says. A tensor that a file has and the map does not name is kept:
// it is part of what the exporter wrote (scales that were added later), and what it means is for a dialect to say.
void Container::Impl::check_index(const ShardIndex& index, const std::string& index_path) {
  double total = 0;
  for (const auto& [name, file] : index.file_of) {
    const StoredTensor* tensor = find(name);
    if (tensor == nullptr || tensor->file != file)
      fail_file(Errc::kCorrupt, files[file].path,
                fmt::format("{} gives tensor '{}' to {}, which does not have it", index_path, printable(name),
                            index.files[file]),
                name);
    total += static_cast<double>(tensor->bytes);
  }
  std::vector<const StoredTensor*> unmapped;
  for (const StoredTensor& tensor : tensors)
    if (!index.file_of.contains(tensor.name)) unmapped.push_back(&tensor);
  if (!unmapped.empty())
    warn("unmapped_tensors", unmapped[0]->name,
         fmt::format("{} does not name {} of the tensors in its files, the first is '{}' in {}", index_path,
                     unmapped.size(), printable(unmapped[0]->name), files[unmapped[0]->file].path));
  if (index.total_size && *index.total_size != total)
    warn("total_size", "",
         fmt::format("{} claims {:.0f} bytes of tensors, and there are {:.0f}", index_path, *index.total_size, total));
}

void Container::Impl::sort_tensors() {
  const auto by_name = [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; };
  std::sort(tensors.begin(), tensors.end(), by_name);
  const auto twice =
      std::adjacent_find(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice == tensors.end()) return;
  const std::string &one = files[twice->file].path, &other = files[std::next(twice)->file].path;
  fail_file(Errc::kCorrupt, other,
            fmt::format("tensor '{}' stands both in {} and in {}", printable(twice->name), one, file_name(other)),
            twice->name);
}

const StoredTensor* Container::Impl::find(std::string_view name) const {
  const auto place = std::lower_bound(tensors.begin(), tensors.end(), name,
                                      [](const StoredTensor& tensor, std::string_view n) { return tensor.name < n; });
  return place != tensors.end() && place->name == name ? &*place : nullptr;
}

std::int64_t StoredTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

Container Container::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none)
    fail_file(Errc::kResource, path, fmt::format("cannot look at {}: {}", path, error.message()));
  if (!fs::exists(status)) fail_file(Errc::kNotFound, path, "there is no file or folder " + path);
  if (fs::is_directory(status)) {
    impl->folder = path;
    impl->add_folder();
    return Container(std::move(impl));
  }
  impl->folder = folder_of(path);
  if (path.ends_with(".json")) {
    impl->add_index(file_name(path));
    return Container(std::move(impl));
  }
  const Signature signature = read_signature(path);
  if (path.ends_with(".gguf") || signature == Signature::kGguf) {
    impl->kind = Kind::kGguf;
    impl->add_gguf(path);
    return Container(std::move(impl));
  }
  if (signature == Signature::kZip)
    fail_file(Errc::kUnsupported, path,
              fmt::format("{} is a zip archive, as PyTorch's pickles are; only safetensors and GGUF are read", path));
  impl->kind = Kind::kFile;
  impl->add_safetensors(path);
  return Container(std::move(impl));
}

Container::Container(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->maps.resize(impl_->files.size()); }
Container::~Container() = default;
Container::Container(Container&&) noexcept = default;
Container& Container::operator=(Container&&) noexcept = default;

Container::Kind Container::kind() const { return impl_->kind; }
const std::string& Container::path() const { return impl_->path; }
const std::string& Container::folder() const { return impl_->folder; }
std::span<const ContainerFile> Container::files() const { return impl_->files; }
std::span<const StoredTensor> Container::tensors() const { return impl_->tensors; }
const StoredTensor* Container::find(std::string_view name) const { return impl_->find(name); }
const Json& Container::gguf_metadata() const { return impl_->gguf_metadata; }
std::span<const ContainerWarning> Container::warnings() const { return impl_->warnings; }

void Container::read(const StoredTensor& tensor, std::uint64_t begin, std::span<std::byte> into) const {
  require(begin <= tensor.bytes && into.size() <= tensor.bytes - begin, Errc::kInvalid,
          "tensor '{}' has {} bytes, and [{}, {}) were asked for", printable(tensor.name), tensor.bytes, begin,
          begin + into.size());
  if (impl_->from != nullptr) {
    const StoredTensor* stored = impl_->from->find(tensor.name);
    TESSERA_ASSERT(stored != nullptr);
    const auto it = impl_->replaced.find(tensor.name);
    if (it == impl_->replaced.end()) return impl_->from->read(*stored, begin, into);
    return it->second.read(*impl_->from, *stored, begin, into);
  }
  try {
    impl_->handles.at(tensor.file).read(tensor.offset + begin, into);
  } catch (Error& e) {
    e.in_tensor(tensor.name).add_note(fmt::format("reading tensor '{}'", printable(tensor.name)));
    throw;
  }
}

std::vector<std::byte> Container::read_all(const StoredTensor& tensor) const {
  std::vector<std::byte> bytes(tensor.bytes);
  read(tensor, 0, bytes);
  return bytes;
}

std::span<const std::byte> Container::map(const StoredTensor& tensor) const {
  if (impl_->from != nullptr) {
    if (!impl_->replaced.contains(tensor.name)) return impl_->from->map(*impl_->from->find(tensor.name));
    const std::lock_guard lock(impl_->mapping);
    const auto [it, is_new] = impl_->copies.try_emplace(tensor.name);
    if (is_new) it->second = read_all(tensor);
    return it->second;
  }
  const std::lock_guard lock(impl_->mapping);
  std::optional<MappedFile>& map = impl_->maps.at(tensor.file);
  if (!map) map.emplace(impl_->handles[tensor.file]);
  const std::span<const std::byte> whole = map->bytes();
  if (tensor.offset + tensor.bytes > whole.size()) {
    const std::string& file = impl_->files[tensor.file].path;
    fail_file(Errc::kResource, file,
              fmt::format("{}: tensor '{}' ends at byte {} and the file now at {}: it was cut after it was opened",
                          file, printable(tensor.name), tensor.offset + tensor.bytes, whole.size()),
              tensor.name);
  }
  return whole.subspan(tensor.offset, tensor.bytes);
}

AmendedTensor amend_bytes(const StoredTensor& tensor, std::array<std::uint8_t, 256> table) {
  return {tensor.dtype, tensor.shape,
          [table](const Container& from, const StoredTensor& stored, std::uint64_t begin, std::span<std::byte> into) {
            from.read(stored, begin, into);
            for (std::byte& b : into) b = std::byte{table[std::to_integer<std::size_t>(b)]};
          }};
}

AmendedTensor amend_whole(const StoredTensor& tensor, std::vector<std::byte> bytes) {
  return {tensor.dtype, tensor.shape,
          [bytes = std::move(bytes)](const Container&, const StoredTensor&, std::uint64_t begin,
                                     std::span<std::byte> into) {
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), into.size(), into.begin());
          }};
}

Container amended(std::shared_ptr<const Container> from, const Amendment& amendment) {
  auto impl = std::make_unique<Container::Impl>();
  impl->kind = from->kind();
  impl->path = from->path();
  impl->folder = from->folder();
  impl->files.assign(from->files().begin(), from->files().end());
  impl->warnings.assign(from->warnings().begin(), from->warnings().end());
  impl->gguf_metadata = from->gguf_metadata();
  for (const auto& [name, tensor] : amendment.tensors)
    require(from->find(name) != nullptr, Errc::kInvalid, "{} has no tensor '{}' to amend", from->path(), name);
  for (const StoredTensor& stored : from->tensors()) {
    if (amendment.dropped.contains(stored.name)) continue;
    StoredTensor& tensor = impl->tensors.emplace_back(stored);
    const auto it = amendment.tensors.find(stored.name);
    if (it == amendment.tensors.end()) continue;
    tensor.dtype = it->second.dtype;
    tensor.type = dtype_name(tensor.dtype);
    tensor.shape = it->second.shape;
    tensor.bytes = static_cast<std::uint64_t>(tensor.elements() * dtype_bits(tensor.dtype) / 8);
    impl->replaced.emplace(it->first, it->second);
  }
  if (!amendment.globals.empty()) {
    std::string& text = impl->files.at(0).metadata[std::string(kGlobalsKey)];
    StoredGlobals globals = text.empty() ? StoredGlobals() : StoredGlobals::parse(text);
    for (const auto& [name, original] : amendment.globals) globals.keep(name, original);
    text = globals.text();
  }
  impl->from = std::move(from);
  return Container(std::move(impl));
}

std::string read_side_file(const std::string& folder, std::string_view name, std::uint64_t limit) {
  const std::optional<std::string> path = resolve_member(folder, name);
  return path ? read_file(*path, limit) : std::string();
}

}  // namespace tessera
