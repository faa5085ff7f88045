#include "tessera/kernels/attention.h"

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/kernels/cpu/attention.h"
#include "tessera/kernels/reference/attention.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
namespace {

constexpr float kLog2E = 0x1.715476p0f;

using Block = tessera_lanes::AttentionBlock;

bool fits_lanes(const Block& b) { return b.width <= cpu::kWidestHead; }

constexpr AttentionImpl kImpls[] = {
    {"avx512", [](const Stream& s) { return s.device().is_cpu() && s.cpu_tier() >= CpuTier::kAvx512; }, &fits_lanes,
     &cpu::attend_avx512},
    {"avx2", [](const Stream& s) { return s.device().is_cpu() && s.cpu_tier() >= CpuTier::kAvx2; }, &fits_lanes,
     &cpu::attend_avx2},
    {"reference", [](const Stream& s) { return s.device().is_cpu(); }, [](const Block&) { return true; },
     &reference::attend},
};

// Rows [begin, end) of one sequence and the query heads of one key-value head.
struct Task {
  std::int64_t head, begin, end;
};

// Runs of rows that share their sequence's pages, cut so that a task has no more queries than a block holds.
std::vector<Task> make_tasks(const AttentionArgs& args) {
  const std::int64_t group = args.heads / args.store.page.heads, rows = static_cast<std::int64_t>(args.rows.size());
  const std::int64_t most = std::max<std::int64_t>(1, Block::kQueries / group);
  std::vector<Task> tasks;
  // Heads outermost: the work of a row grows with its position, and a part of the rows would not be a part of the work.
  for (std::int64_t head = 0; head < args.store.page.heads; ++head)
    for (std::int64_t begin = 0; begin < rows;) {
      std::int64_t end = begin + 1;
      while (end < rows && end - begin < most &&
             args.rows[static_cast<std::size_t>(end)].pages == args.rows[static_cast<std::size_t>(begin)].pages)
        ++end;
      tasks.push_back({head, begin, end});
      begin = end;
    }
  return tasks;
}

void require_columns(std::string_view what, const Tensor& t, std::int64_t column, std::int64_t width,
                     std::size_t rows) {
  require(t.dtype() == DType::kF32 || t.dtype() == DType::kBf16, Errc::kUnsupported,
          "attention: {} is {}; F32 and BF16 fit", what, dtype_name(t.dtype()));
  const Extent e = t.extent();
  require(e.rows == static_cast<std::int64_t>(rows) && column >= 0 && column + width <= e.cols, Errc::kShape,
          "attention: {} is {} x {}; {} rows and columns {} to {} are wanted", what, e.rows, e.cols, rows, column,
          column + width);
}

float float_at(const Tensor& t, std::int64_t index) {
  if (t.dtype() == DType::kF32) return t.as<float>()[index];
  return std::bit_cast<float>(std::uint32_t{t.as<std::uint16_t>()[index]} << 16);
}
void store_float(DType type, std::byte* data, std::int64_t index, float value) {
  if (type == DType::kF32)
    reinterpret_cast<float*>(data)[index] = value;
  else
    reinterpret_cast<std::uint16_t*>(data)[index] = bits16(DType::kBf16, round_to(DType::kBf16, value));
}

void store_kv(const KvStore& store, std::byte* page, std::int64_t index, float value, float scale) {
  if (store.page.type == DType::kF8E4M3)
    reinterpret_cast<std::uint8_t*>(page)[index] = static_cast<std::uint8_t>(encode(kE4M3, value / scale));
  else
    store_float(store.page.type, page, index, value);
}

}  // namespace

std::span<const AttentionImpl> attention_impls() { return kImpls; }

void write_keys_and_values(Stream& stream, const KvWrite& args) {
  const KvPage& page = args.store.page;
  require_columns("k", args.k, args.key_column, page.heads * page.width, args.rows.size());
  require_columns("v", args.v, args.value_column, page.heads * page.width, args.rows.size());
  const auto rows = static_cast<std::int64_t>(args.rows.size());
  const std::int64_t k_stride = args.k.extent().cols, v_stride = args.v.extent().cols;
  parallel_for(stream.pool(), rows * page.heads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task / page.heads, head = task % page.heads;
      const AttentionRow& place = args.rows[static_cast<std::size_t>(row)];
      const std::int64_t token = place.position % KvPage::kTokens;
      std::byte* to = args.store.data + place.pages[place.position / KvPage::kTokens] * page.bytes();
      for (std::int64_t i = 0; i < page.width; ++i) {
        const std::int64_t at = head * page.width + i;
        store_kv(args.store, to, page.key(head, token, i), float_at(args.k, row * k_stride + args.key_column + at),
                 args.store.key_scale);
        store_kv(args.store, to, page.value(head, token, i), float_at(args.v, row * v_stride + args.value_column + at),
                 args.store.value_scale);
      }
    }
  });
}

namespace {

// The queries of a task, at most a block of them at a time: a group of heads may be larger than a block.
class TaskRunner {
 public:
  TaskRunner(Stream& stream, const AttentionArgs& args) : args_(args), group_(args.heads / args.store.page.heads) {
    const auto floats = static_cast<std::size_t>(Block::kQueries * args.store.page.width);
    q_.resize(floats);
    y_.resize(floats);
    const KvPage& page = args.store.page;
    block_.page_bytes = page.bytes();
    block_.width = page.width;
    block_.type = static_cast<int>(page.type);
    block_.key_scale = args.store.key_scale;
    block_.value_scale = args.store.value_scale;
    block_.scale = args.scale * kLog2E;
    for (const AttentionImpl& candidate : kImpls)
      if (impl_ == nullptr && candidate.here(stream) && candidate.fits(block_)) impl_ = &candidate;
    require(impl_ != nullptr, Errc::kUnsupported, "no kernel attends on {}", device_name(stream.device()));
  }

  void run(const Task& task) {
    const KvPage& page = args_.store.page;
    block_.pages = args_.rows[static_cast<std::size_t>(task.begin)].pages;
    block_.head =
        reinterpret_cast<const std::uint8_t*>(args_.store.data) + page.key(task.head, 0, 0) * dtype_bits(page.type) / 8;
    for (std::int64_t row = task.begin; row < task.end; ++row)
      for (std::int64_t head = 0; head < group_; ++head) {
        add(row, task.head * group_ + head);
        if (block_.count == Block::kQueries) flush();
      }
    flush();
  }

 private:
  void add(std::int64_t row, std::int64_t head) {
    const std::int64_t width = block_.width, from = row * args_.q.extent().cols + args_.q_column + head * width;
    float* q = q_.data() + block_.count * width;
    for (std::int64_t i = 0; i < width; ++i) q[i] = float_at(args_.q, from + i);
    block_.q[block_.count] = q;
    block_.y[block_.count] = y_.data() + block_.count * width;
    block_.lengths[block_.count] = args_.rows[static_cast<std::size_t>(row)].position + 1;
    to_[block_.count++] = row * args_.y.extent().cols + head * width;
  }
  void flush() {
    if (block_.count > 0) impl_->run(block_);
    for (int i = 0; i < block_.count; ++i)
      for (std::int64_t d = 0; d < block_.width; ++d)
        store_float(args_.y.dtype(), args_.y.data(), to_[i] + d, block_.y[i][d]);
    block_.count = 0;
  }

  const AttentionArgs& args_;
  std::int64_t group_;
  const AttentionImpl* impl_ = nullptr;
  Block block_;
  std::vector<float> q_, y_;
  std::int64_t to_[Block::kQueries] = {};
};

}  // namespace

void attend(Stream& stream, const AttentionArgs& args) {
  const KvPage& page = args.store.page;
  require(page.heads > 0 && args.heads % page.heads == 0 && page.width % 2 == 0, Errc::kShape,
          "attention: {} query heads over {} key-value heads of width {}", args.heads, page.heads, page.width);
  require_columns("q", args.q, args.q_column, args.heads * page.width, args.rows.size());
  require_columns("y", args.y, 0, args.heads * page.width, args.rows.size());
  const std::vector<Task> tasks = make_tasks(args);
  parallel_for(stream.pool(), static_cast<std::int64_t>(tasks.size()), [&](std::int64_t begin, std::int64_t end, int) {
    TaskRunner runner(stream, args);
    for (std::int64_t i = begin; i < end; ++i) runner.run(tasks[static_cast<std::size_t>(i)]);
  });
}

}  // namespace tessera
