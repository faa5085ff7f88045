// Files: positioned reads and writes from any thread, mappings, whole small files. Linux.
// Throws kNotFound for an absent file, kInvalid for what is no regular file, kResource when the system refuses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/error.h"

namespace tessera {

class File final {
 public:
  static File open(const std::string& path);  // to read; a pipe or device never blocks, it is refused
  // Reads past the page cache (O_DIRECT): offset, length and address in whole kAlignment. None: no such reads there.
  static std::optional<File> open_direct(const std::string& path);
  static File create(const std::string& path);  // to write; must not exist (kInvalid)
  static constexpr std::size_t kAlignment = 4096;

  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t size() const;  // bytes, now

  // All of `into`, from byte `begin`. Any thread. kResource when the file ends before that: it was cut since it was
  // opened.
  void read(std::uint64_t begin, std::span<std::byte> into) const;
  // One request: the system may give fewer bytes than asked for; 0 at the end of the file. For direct files.
  std::size_t read_once(std::uint64_t begin, std::span<std::byte> into) const;
  // As many bytes as there are up to the end of the file. Returns how many.
  std::size_t read_up_to(std::uint64_t begin, std::span<std::byte> into) const;
  void write(std::uint64_t begin, std::span<const std::byte> from) const;  // any thread
  // Grows the file to `bytes`, with the disk blocks where the file system can reserve them: a full disk shows here.
  void reserve(std::uint64_t bytes) const;
  // Asks the system to begin writing these bytes to the device now, so that sync() has less to wait for.
  void start_writing_out(std::uint64_t begin, std::uint64_t bytes) const;
  void sync() const;        // returns when the bytes are on the device
  void drop_cache() const;  // asks the page cache to forget the file

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

// A file's bytes in memory, read only. A file cut by another process while mapped raises SIGBUS on touch: map files
// that nobody writes, and read() the others.
class MappedFile final {
 public:
  explicit MappedFile(const File& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  // The share, 0 to 1, of the pages of [begin, begin + bytes) that are in the page cache; 1 where the system does not
  // tell.
  double cached_share(std::uint64_t begin, std::uint64_t bytes) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// The whole file. kCorrupt beyond `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit = std::uint64_t{256} << 20);
// A new file with these bytes, synced.
void write_file(const std::string& path, std::string_view bytes);
void sync_folder(const std::string& path);  // makes the names in it durable

// Throws Error(code, message) whose file() and tensor() are these. The message has the path already.
[[noreturn]] void fail_file(Errc code, const std::string& path, std::string message, const std::string& tensor = {});
// Throws kResource: "cannot <action> <path>: <what errno says>"; kNotFound for ENOENT and ENOTDIR.
[[noreturn]] void fail_from_errno(std::string_view action, const std::string& path);

// Runs `read`. An Error of a reader that knows no path gets `path: ` in front and in file().
template <class Fn>
auto naming_file(const std::string& path, const Fn& read) {
  try {
    return read();
  } catch (const Error& e) {
    if (!e.file().empty()) throw;
    Error named(e.code(), path + ": " + e.message());
    named.in_file(path).in_tensor(e.tensor());
    throw named;
  }
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace tessera
