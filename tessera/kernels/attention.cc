#include "tessera/kernels/attention.h"

#include <vector>

#include "tessera/base/error.h"
#include "tessera/kernels/reference/attention.h"
#include "tessera/numeric/lanes.h"

namespace tessera {
namespace {

constexpr float kLog2E = 0x1.715476p0f;

constexpr AttentionImpl kImpls[] = {
    {"reference", [](const Stream& s) { return s.device().is_cpu(); }, [](const KvStore&) { return true; },
     &reference::attend},
};

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

void attend(Stream& stream, const AttentionArgs& args) {
  const KvPage& page = args.store.page;
  require(page.heads > 0 && args.heads % page.heads == 0 && page.width % 2 == 0, Errc::kShape,
          "attention: {} query heads over {} key-value heads of width {}", args.heads, page.heads, page.width);
  require_columns("q", args.q, args.q_column, args.heads * page.width, args.rows.size());
  require_columns("y", args.y, 0, args.heads * page.width, args.rows.size());
  const AttentionImpl* impl = nullptr;
  for (const AttentionImpl& candidate : kImpls)
    if (impl == nullptr && candidate.here(stream) && candidate.fits(args.store)) impl = &candidate;
  require(impl != nullptr, Errc::kUnsupported, "no kernel attends on {}", device_name(stream.device()));
  const auto rows = static_cast<std::int64_t>(args.rows.size());
  const std::int64_t q_stride = args.q.extent().cols, y_stride = args.y.extent().cols;
  // Heads outermost: the work of a row grows with its position, and a part of the rows would not be a part of the work.
  parallel_for(stream.pool(), rows * args.heads, [&](std::int64_t begin, std::int64_t end, int) {
    const auto width = static_cast<std::size_t>(page.width);
    std::vector<float> q(width), y(width);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t head = task / rows, row = task % rows;
      for (std::size_t i = 0; i < width; ++i)
        q[i] = float_at(args.q, row * q_stride + args.q_column + head * page.width + static_cast<std::int64_t>(i));
      impl->run({.q = q.data(),
                 .y = y.data(),
                 .scale = args.scale * kLog2E,
                 .head = head / (args.heads / page.heads),
                 .row = &args.rows[static_cast<std::size_t>(row)],
                 .store = &args.store});
      for (std::size_t i = 0; i < width; ++i)
        store_float(args.y.dtype(), args.y.data(), row * y_stride + head * page.width + static_cast<std::int64_t>(i),
                    y[i]);
    }
  });
}

}  // namespace tessera
