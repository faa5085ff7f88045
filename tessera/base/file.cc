#include "tessera/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t kLargestRequest = std::size_t{1} << 30;  // Linux moves at most 2^31 - 4096 bytes a call

off_t file_offset(std::uint64_t begin, const std::string& path) {
  require(begin <= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()), Errc::kInvalid,
          "{}: byte {} is beyond what a file can have", path, begin);
  return static_cast<off_t>(begin);
}

// The descriptor of a regular file, or fails.
int open_regular(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return descriptor;
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(descriptor);
    fail_file(Errc::kInvalid, path,
              fmt::format("{} is {}", path, S_ISDIR(facts.st_mode) ? "a folder, not a file" : "not a regular file"));
  }
  return descriptor;
}

}  // namespace

void fail_from_errno(std::string_view action, const std::string& path) {
  const int reason = errno;
  const bool absent = reason == ENOENT || reason == ENOTDIR;
  fail_file(absent ? Errc::kNotFound : Errc::kResource, path,
            fmt::format("cannot {} {}: {}", action, path, std::strerror(reason)));
}

void fail_file(Errc code, const std::string& path, std::string message, const std::string& tensor) {
  Error error(code, std::move(message));
  error.in_file(path).in_tensor(tensor);
  throw error;
}

File File::open(const std::string& path) {
  const int descriptor = open_regular(path, 0);
  if (descriptor < 0) fail_from_errno("open", path);
  return File(path, descriptor);
}

std::optional<File> File::open_direct(const std::string& path) {
  const int descriptor = open_regular(path, O_DIRECT);
  if (descriptor >= 0) return File(path, descriptor);
  if (errno == EINVAL || errno == EOPNOTSUPP) return std::nullopt;
  fail_from_errno("open", path);
}

File File::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    if (errno == EEXIST) fail_file(Errc::kInvalid, path, path + " exists already");
    fail_from_errno("create", path);
  }
  return File(path, descriptor);
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::uint64_t File::size() const {
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) fail_from_errno("look at", path_);
  return static_cast<std::uint64_t>(facts.st_size);
}

std::size_t File::read_once(std::uint64_t begin, std::span<std::byte> into) const {
  const std::size_t request = std::min(into.size(), kLargestRequest);
  for (;;) {
    const ssize_t got = ::pread(descriptor_, into.data(), request, file_offset(begin, path_));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_from_errno("read", path_);
  }
}

std::size_t File::read_up_to(std::uint64_t begin, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t got = read_once(begin + done, into.subspan(done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

void File::read(std::uint64_t begin, std::span<std::byte> into) const {
  const std::size_t got = read_up_to(begin, into);
  if (got == into.size()) return;
  fail_file(Errc::kResource, path_,
            fmt::format("{}: bytes [{}, {}) were asked for and the file now ends at {}: it was cut after it was opened",
                        path_, begin, begin + into.size(), size()));
}

void File::write(std::uint64_t begin, std::span<const std::byte> from) const {
  while (!from.empty()) {
    const std::size_t request = std::min(from.size(), kLargestRequest);
    const ssize_t put = ::pwrite(descriptor_, from.data(), request, file_offset(begin, path_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_from_errno("write", path_);
    begin += static_cast<std::uint64_t>(put);
    from = from.subspan(static_cast<std::size_t>(put));
  }
}

void File::reserve(std::uint64_t bytes) const {
  const off_t end = file_offset(bytes, path_);
  if (bytes == 0) return;
  if (::fallocate(descriptor_, 0, 0, end) == 0) return;
  if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
    fail_from_errno(fmt::format("reserve {} bytes for", bytes), path_);
  if (::ftruncate(descriptor_, end) != 0) fail_from_errno("grow", path_);
}

void File::start_writing_out(std::uint64_t begin, std::uint64_t bytes) const {
  // A hint: what it cannot do, sync() does.
  ::sync_file_range(descriptor_, file_offset(begin, path_), file_offset(bytes, path_), SYNC_FILE_RANGE_WRITE);
}

void File::sync() const {
  if (::fsync(descriptor_) != 0) fail_from_errno("sync", path_);
}

void File::drop_cache() const { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

MappedFile::MappedFile(const File& file) : size_(file.size()) {
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED) fail_from_errno("map", file.path());
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

double MappedFile::cached_share(std::uint64_t begin, std::uint64_t bytes) const {
  if (bytes == 0 || begin >= size_) return 1;
  const std::uint64_t first = begin / File::kAlignment * File::kAlignment;
  const std::uint64_t end = std::min<std::uint64_t>(begin + bytes, size_);
  std::vector<unsigned char> resident((end - first + File::kAlignment - 1) / File::kAlignment);
  if (::mincore(const_cast<std::byte*>(data_) + first, end - first, resident.data()) != 0) return 1;
  const auto there =
      std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(resident.size());
}

std::string read_file(const std::string& path, std::uint64_t limit) {
  const File file = File::open(path);
  const std::uint64_t bytes = file.size();
  if (bytes > limit)
    fail_file(Errc::kCorrupt, path,
              fmt::format("{} has {} bytes, and files of its kind at most {}", path, bytes, limit));
  std::string text(bytes, '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_file(const std::string& path, std::string_view bytes) {
  const File file = File::create(path);
  file.write(0, bytes_of(bytes));
  file.sync();
}

void sync_folder(const std::string& path) {
  const int descriptor = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_from_errno("open the folder", path);
  const int result = ::fsync(descriptor);
  ::close(descriptor);
  // Some network file systems cannot sync a folder; their names are durable when the server says so.
  if (result != 0 && errno != EINVAL && errno != EROFS) fail_from_errno("sync the folder", path);
}

}  // namespace tessera
