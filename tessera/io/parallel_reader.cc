#include "tessera/io/parallel_reader.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/log.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::uint64_t round_down(std::uint64_t n) { return n / File::kAlignment * File::kAlignment; }
constexpr std::uint64_t round_up(std::uint64_t n) { return round_down(n + File::kAlignment - 1); }

// A gap of unwanted bytes that costs less to read than another request: about 0.1 ms at 2 GB/s.
constexpr std::uint64_t kWorthReading = 256 << 10;

// From this share of cached pages on, memory with a few small reads beats a direct read of everything.
constexpr double kWarm = 0.9;

// What is copied out of the page cache at once, so that it is still in the processor's when it is delivered.
constexpr std::uint64_t kHot = 256 << 10;

struct FilePart {
  std::uint64_t begin = 0, end = 0;
};

// A range as a place in a file.
struct Wanted {
  std::uint32_t file = 0;
  std::uint64_t begin = 0, end = 0;
  std::size_t index = 0;
};

// One read: [begin, end) of a file, both aligned (the end may lie beyond the file's), and the places that touch it.
struct Request {
  std::uint32_t file = 0;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::size_t> places;
};

std::vector<Wanted> sort_places(const Container& container, std::span<const TensorRange> ranges) {
  std::vector<Wanted> places;
  places.reserve(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const TensorRange& range = ranges[i];
    const StoredTensor& tensor = *range.tensor;
    require(range.begin <= tensor.bytes && range.bytes <= tensor.bytes - range.begin, Errc::kInvalid,
            "tensor '{}' has {} bytes, and [{}, {}) were asked for", printable(tensor.name), tensor.bytes, range.begin,
            range.begin + range.bytes);
    TESSERA_ASSERT(tensor.file < container.files().size());
    const std::uint64_t begin = tensor.offset + range.begin;
    if (range.bytes > 0) places.push_back({tensor.file, begin, begin + range.bytes, i});
  }
  std::sort(places.begin(), places.end(), [](const Wanted& a, const Wanted& b) {
    return std::tie(a.file, a.begin, a.index) < std::tie(b.file, b.begin, b.index);
  });
  return places;
}

// Disjoint requests of at most `size` bytes that cover the sorted places.
std::vector<Request> plan_requests(const std::vector<Wanted>& places, std::uint64_t size) {
  std::vector<Request> requests;
  const auto cut = [&](std::uint32_t file, std::uint64_t begin, std::uint64_t end) {
    for (; begin < end; begin += size) requests.push_back({file, begin, std::min(begin + size, end), {}});
  };
  for (std::size_t i = 0; i < places.size();) {
    const std::uint32_t file = places[i].file;
    const std::uint64_t begin = round_down(places[i].begin);
    std::uint64_t end = begin;
    for (; i < places.size() && places[i].file == file && places[i].begin <= end + kWorthReading; ++i)
      end = std::max(end, round_up(places[i].end));
    cut(file, begin, end);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto ends_before = [](const Request& request, const Wanted& place) {
      return std::tie(request.file, request.end) <= std::tie(place.file, place.begin);
    };
    auto request = std::lower_bound(requests.begin(), requests.end(), places[i], ends_before);
    for (; request != requests.end() && request->file == places[i].file && request->begin < places[i].end; ++request)
      request->places.push_back(i);
  }
  return requests;
}

struct alignas(File::kAlignment) Page {
  std::byte bytes[File::kAlignment];
};
// A buffer that direct reads take: aligned, of whole pages, not cleared.
class AlignedBuffer final {
 public:
  explicit AlignedBuffer(std::uint64_t bytes)
      : size_(bytes), pages_(std::make_unique_for_overwrite<Page[]>(bytes / sizeof(Page))) {}
  std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(pages_.get()), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<Page[]> pages_;
};

// Some file systems open a file for direct reads and then refuse them, or want a coarser alignment.
std::optional<File> open_working_direct(const std::string& path) {
  std::optional<File> file = File::open_direct(path);
  if (!file) return file;
  const AlignedBuffer page(File::kAlignment);
  try {
    file->read_once(0, page.bytes());
  } catch (const Error&) {
    return std::nullopt;
  }
  return file;
}

// A file's two doors.
class Source final {
 public:
  Source(const ContainerFile& facts, ReadCache cache) : buffered_(File::open(facts.path)) {
    if (cache == ReadCache::kBuffered) return;
    direct_ = open_working_direct(facts.path);
    if (!direct_) log_once(LogLevel::kInfo, "reading {} through the page cache: no direct reads there", facts.path);
    if (direct_ && cache == ReadCache::kAuto) map_.emplace(buffered_);
  }

  // Whether [begin, begin + bytes) is better read past the page cache.
  bool goes_past_cache(std::uint64_t begin, std::uint64_t bytes) const {
    return direct_ && !(map_ && map_->cached_share(begin, bytes) >= kWarm);
  }

  std::size_t read_cached(std::uint64_t begin, std::span<std::byte> into) const {
    return buffered_.read_up_to(begin, into);
  }
  // A direct read may stop short at an odd place only where the file ends.
  std::size_t read_direct(std::uint64_t begin, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
      const std::size_t got = direct_->read_once(begin + done, into.subspan(done));
      done += got;
      if (got == 0 || got % File::kAlignment != 0) break;
    }
    return done;
  }

 private:
  File buffered_;
  std::optional<File> direct_;
  std::optional<MappedFile> map_;
};

class Reading final {
 public:
  Reading(const Container& container, std::span<const TensorRange> ranges, const Arrival& arrive,
          const ReadOptions& options)
      : container_(container),
        arrive_(arrive),
        request_bytes_(round_up(std::max<std::uint64_t>(options.request_bytes, 1))),
        places_(sort_places(container, ranges)),
        requests_(plan_requests(places_, request_bytes_)) {
    sources_.resize(container.files().size());
    for (const Request& request : requests_)
      if (!sources_[request.file]) sources_[request.file].emplace(container.files()[request.file], options.cache);
  }

  void run(int threads) {
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), requests_.size());
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < count; ++i) helpers.emplace_back([this] { work(); });
    if (count > 0) work();
    for (std::thread& helper : helpers) helper.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work() noexcept {
    std::size_t at = 0;
    try {
      const AlignedBuffer buffer(request_bytes_);
      while (!stop_.load(std::memory_order_relaxed)) {
        at = next_.fetch_add(1, std::memory_order_relaxed);
        if (at >= requests_.size()) return;
        serve(requests_[at], buffer.bytes());
      }
    } catch (...) {
      const std::lock_guard lock(failing_);
      if (!error_ || at < failed_) error_ = std::current_exception(), failed_ = at;
      stop_.store(true, std::memory_order_relaxed);
    }
  }

  void serve(const Request& request, std::span<std::byte> buffer) {
    const Source& source = *sources_[request.file];
    const bool direct = source.goes_past_cache(request.begin, request.end - request.begin);
    const std::uint64_t step = direct ? request_bytes_ : std::min(request_bytes_, kHot);
    for (std::uint64_t begin = request.begin; begin < request.end; begin += step) {
      const std::span<std::byte> window = buffer.first(std::min(step, request.end - begin));
      const std::size_t got = direct ? source.read_direct(begin, window) : source.read_cached(begin, window);
      deliver(request, {begin, begin + window.size()}, window.first(got));
    }
  }
  // The wanted bytes of [part.begin, part.end), of which `window` has been read.
  void deliver(const Request& request, FilePart part, std::span<const std::byte> window) {
    for (const std::size_t i : request.places) {
      const Wanted& place = places_[i];
      const std::uint64_t from = std::max(place.begin, part.begin), to = std::min(place.end, part.end);
      if (from >= to) continue;
      if (to > part.begin + window.size()) fail_cut(request.file, from, to, part.begin + window.size());
      arrive_(place.index, from - place.begin, window.subspan(from - part.begin, to - from));
    }
  }
  [[noreturn]] void fail_cut(std::uint32_t file, std::uint64_t from, std::uint64_t to, std::uint64_t end) const {
    const std::string& path = container_.files()[file].path;
    fail_file(
        Errc::kResource, path,
        fmt::format("{}: bytes [{}, {}) were asked for and the file now ends at {}: it was cut after it was opened",
                    path, from, to, end));
  }

  const Container& container_;
  const Arrival& arrive_;
  std::uint64_t request_bytes_;
  std::vector<Wanted> places_;
  std::vector<Request> requests_;
  std::vector<std::optional<Source>> sources_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex failing_;
  std::exception_ptr error_;
  std::size_t failed_ = 0;
};

}  // namespace

void read_parallel(const Container& container, std::span<const TensorRange> ranges, const Arrival& arrive,
                   const ReadOptions& options) {
  Reading(container, ranges, arrive, options).run(options.threads);
}

void read_parallel_into(const Container& container, std::span<const TensorRange> ranges,
                        std::span<const std::span<std::byte>> into, const ReadOptions& options) {
  require(into.size() == ranges.size(), Errc::kInvalid, "{} ranges are to be read into {} buffers", ranges.size(),
          into.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    require(into[i].size() == ranges[i].bytes, Errc::kInvalid, "range {} has {} bytes and its buffer {}", i,
            ranges[i].bytes, into[i].size());
  const Arrival copy = [&](std::size_t index, std::uint64_t begin, std::span<const std::byte> bytes) {
    std::memcpy(into[index].data() + begin, bytes.data(), bytes.size());
  };
  read_parallel(container, ranges, copy, options);
}

}  // namespace tessera
