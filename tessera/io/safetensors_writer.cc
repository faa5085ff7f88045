#include "tessera/io/safetensors_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/json.h"
#include "tessera/base/utf8.h"
#include "tessera/io/safetensors.h"

namespace tessera {

struct SafetensorsWriter::Slot {
  PlannedTensor tensor;
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;  // from the beginning of the data, then of the file
  std::unique_ptr<std::atomic<std::uint64_t>> written = std::make_unique<std::atomic<std::uint64_t>>(0);
};

namespace {

// Pieces from this size on go to the disk while the next ones are computed; smaller ones are gathered by the system.
constexpr std::size_t kWrittenOutAtOnce = 128 << 10;  // bytes

void check_name(const std::string& name) {
  const bool fits = !name.empty() && name != "__metadata__" && name.size() <= 4096 && is_utf8(name) &&
                    name.find('\0') == std::string::npos;
  require(fits, Errc::kInvalid, "'{}' cannot be a tensor's name in a safetensors file", printable(name));
}

// The reference's order. Sorting by name is by bytes.
bool stands_before(const PlannedTensor& a, const PlannedTensor& b) {
  return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string metadata_text(const SafetensorsMetadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    require(is_utf8(key) && is_utf8(value), Errc::kInvalid, "the metadata '{}' is not UTF-8", printable(key));
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", quoted(key), quoted(value));
  }
  return text.empty() ? text : fmt::format("\"__metadata__\":{{{}}}", text);
}

std::string entry_text(const PlannedTensor& tensor, std::uint64_t begin, std::uint64_t end) {
  return fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", quoted(tensor.name),
                     dtype_name(tensor.dtype), fmt::join(tensor.shape, ","), begin, end);
}

}  // namespace

std::uint64_t planned_bytes(const PlannedTensor& tensor) {
  try {
    for (const std::int64_t size : tensor.shape) require(size >= 0, Errc::kInvalid, "has a dimension of {}", size);
    return stored_bytes(tensor.dtype, tensor.shape);
  } catch (const Error& e) {
    fail(Errc::kInvalid, "tensor '{}' {}", printable(tensor.name), e.message());
  }
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<PlannedTensor> tensors,
                                     const SafetensorsMetadata& metadata)
    : file_(File::create(path)) {
  std::sort(tensors.begin(), tensors.end(), stands_before);
  std::string header = metadata_text(metadata);
  for (PlannedTensor& tensor : tensors) {
    check_name(tensor.name);
    Slot slot;
    slot.bytes = planned_bytes(tensor);
    slot.begin = data_bytes_;
    const bool overflows = __builtin_add_overflow(data_bytes_, slot.bytes, &data_bytes_);
    require(!overflows, Errc::kInvalid, "the tensors have more than 2^64 bytes");
    if (!header.empty()) header += ',';
    header += entry_text(tensor, slot.begin, data_bytes_);
    slot.tensor = std::move(tensor);
    slots_.push_back(std::move(slot));
  }
  header = fmt::format("{{{}}}", header);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  require(header.size() <= kLargestSafetensorsHeader, Errc::kInvalid,
          "{}: the header would have {} bytes, beyond the format's limit of {}: write more files", path, header.size(),
          kLargestSafetensorsHeader);

  std::sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.tensor.name < b.tensor.name; });
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    require(i == 0 || slots_[i].tensor.name != slots_[i - 1].tensor.name, Errc::kInvalid,
            "tensor '{}' is planned twice", printable(slots_[i].tensor.name));
    slots_[i].begin += 8 + header.size();
  }
  const std::uint64_t length = header.size();
  file_.reserve(8 + length + data_bytes_);
  file_.write(0, std::as_bytes(std::span(&length, 1)));
  file_.write(8, bytes_of(header));
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter::~SafetensorsWriter() = default;

std::uint64_t SafetensorsWriter::data_bytes() const { return data_bytes_; }

void SafetensorsWriter::write(std::string_view name, std::uint64_t begin, std::span<const std::byte> bytes) {
  const auto slot = std::lower_bound(slots_.begin(), slots_.end(), name,
                                     [](const Slot& s, std::string_view n) { return s.tensor.name < n; });
  if (slot == slots_.end() || slot->tensor.name != name)
    fail(Errc::kNotFound, "{}: tensor '{}' was not planned", file_.path(), printable(name));
  require(begin <= slot->bytes && bytes.size() <= slot->bytes - begin, Errc::kInvalid,
          "tensor '{}' has {} bytes, and [{}, {}) are written", printable(name), slot->bytes, begin,
          begin + bytes.size());
  file_.write(slot->begin + begin, bytes);
  if (bytes.size() >= kWrittenOutAtOnce) file_.start_writing_out(slot->begin + begin, bytes.size());
  slot->written->fetch_add(bytes.size(), std::memory_order_relaxed);
}

void SafetensorsWriter::finish() {
  for (const Slot& slot : slots_) {
    const std::uint64_t written = slot.written->load(std::memory_order_relaxed);
    require(written == slot.bytes, Errc::kInvalid, "{}: tensor '{}' has {} bytes, and {} were written", file_.path(),
            printable(slot.tensor.name), slot.bytes, written);
  }
  file_.sync();
}

}  // namespace tessera
