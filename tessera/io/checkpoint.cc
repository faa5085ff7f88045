#include "tessera/io/checkpoint.h"

#include <algorithm>
#include <array>

#include "tessera/io/checkpoint_scan.h"

namespace tessera {

struct Checkpoint::Impl {
  std::shared_ptr<const Container> container;
  CheckpointScan scan;
  bool strict = false;
};

std::uint64_t Module::bytes() const {
  if (!bank.empty()) {  // its own part of them
    const Extent e = reading.extent;
    if (!is_quantized()) return static_cast<std::uint64_t>(e.count() * dtype_bits(codes->dtype) / 8);
    return static_cast<std::uint64_t>(code_bytes(reading.format, e) +
                                      scale_extent(reading.format, e).count() * (dtype_bits(scales->dtype) / 8));
  }
  std::uint64_t sum = 0;
  for (const StoredTensor* part : {codes, scales, global_tensor, activation_tensor})
    if (part != nullptr) sum += part->bytes;
  return sum;
}

std::string_view role_name(Role role) {
  return std::array{
      "codes", "scales", "global", "activation", "dense", "kv_scale", "ignored", "marker"}[static_cast<std::size_t>(
      role)];
}

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

Checkpoint Checkpoint::open(const std::string& path, const OpenOptions& options) {
  auto impl = std::make_unique<Impl>(Impl{std::make_shared<Container>(Container::open(path)), {}, options.strict});
  impl->scan = scan_checkpoint(*impl->container);
  return Checkpoint(std::move(impl));
}

Checkpoint Checkpoint::amended(const Amendment& amendment) const {
  auto impl = std::make_unique<Impl>(
      Impl{std::make_shared<Container>(tessera::amended(impl_->container, amendment)), {}, impl_->strict});
  ModelConfig config{.config = amendment.config.value_or(impl_->scan.config.config),
                     .sidecar = amendment.sidecar.value_or(impl_->scan.config.sidecar),
                     .metadata = {}};
  impl->scan = scan_checkpoint(*impl->container, std::move(config));
  return Checkpoint(std::move(impl));
}

const Container& Checkpoint::container() const { return *impl_->container; }
const ModelConfig& Checkpoint::config() const { return impl_->scan.config; }
const Declaration* Checkpoint::declared() const { return impl_->scan.declared.get(); }
std::span<const Module> Checkpoint::modules() const { return impl_->scan.modules; }
std::span<const Problem> Checkpoint::problems() const { return impl_->scan.problems; }
std::span<const ContainerWarning> Checkpoint::warnings() const { return impl_->scan.warnings; }

const Module* Checkpoint::find(std::string_view name) const {
  const auto& modules = impl_->scan.modules;
  const auto it = std::lower_bound(modules.begin(), modules.end(), name,
                                   [](const Module& m, std::string_view n) { return m.name < n; });
  return it != modules.end() && it->name == name ? &*it : nullptr;
}

std::span<const Bank> Checkpoint::banks() const { return impl_->scan.banks; }
const Bank* Checkpoint::find_bank(std::string_view name) const {
  for (const Bank& bank : banks())
    if (bank.name == name) return &bank;
  return nullptr;
}

Checkpoint::Place Checkpoint::place(const StoredTensor& tensor) const {
  const auto it = impl_->scan.places.find(&tensor);
  return it == impl_->scan.places.end() ? Place{} : it->second;
}

void Checkpoint::require_usable() const {
  std::size_t harmful = 0;
  const Problem* first = nullptr;
  for (const Problem& p : problems()) {
    if (p.harmless) continue;
    if (first == nullptr) first = &p;
    ++harmful;
  }
  if (first != nullptr) {
    Error error(first->error, harmful == 1 ? first->message
                                           : fmt::format("{} (and {} more problems: `tessera inspect` lists them)",
                                                         first->message, harmful - 1));
    error.in_tensor(first->tensor);
    throw error;
  }
  const auto& contradictions = impl_->scan.contradictions;
  if (!impl_->strict || contradictions.empty()) return;
  constexpr std::size_t kListed = 16;
  std::string listed;
  for (std::size_t i = 0; i < std::min(kListed, contradictions.size()); ++i)
    listed += "\n  " + contradictions[i].message;
  if (contradictions.size() > kListed) listed += fmt::format("\n  and {} more", contradictions.size() - kListed);
  Error error(
      Errc::kCorrupt,
      fmt::format("configuration and tensors contradict each other, and --strict takes no contradiction:{}", listed));
  error.in_tensor(contradictions.front().tensor);
  throw error;
}

Tensor Checkpoint::load_tensor(const StoredTensor& tensor) const {
  Tensor result(tensor.dtype, tensor.shape);
  impl_->container->read(tensor, 0, result.span());
  return result;
}

QuantizedTensor Checkpoint::load(const Module& module) const {
  return load_rows(module, 0, module.reading.extent.rows);
}

QuantizedTensor Checkpoint::load_rows(const Module& module, std::int64_t begin, std::int64_t end) const {
  QuantizedTensor q = load_rows_unchecked(module, begin, end);
  if (module.scales != nullptr) require_scales(q, module.scales->name);
  return q;
}

QuantizedTensor Checkpoint::load_rows_unchecked(const Module& module, std::int64_t begin, std::int64_t end) const {
  const Reading& r = module.reading;
  TESSERA_ASSERT(module.is_quantized() && r.complaints.empty());
  const Block block = block_in(r.format, r.extent);
  const std::int64_t step =
      r.format.block.rows == 0 ? 1 : block.rows;  // one scale for all rows serves any part of them
  require(0 <= begin && begin <= end && end <= r.extent.rows && begin % step == 0 &&
              (end % step == 0 || end == r.extent.rows),
          Errc::kShape, "{}: rows {} to {} of {} do not end on blocks of {} rows", module.name, begin, end,
          r.extent.rows, step);
  // A block of "all rows" or "the whole row" keeps its size in a part, so that the grid of the part is right.
  Format format = r.format;
  if (begin != 0 || end != r.extent.rows)
    format.block = {format.block.cols, format.block.rows == 0 ? r.extent.rows : format.block.rows};
  QuantizedTensor q = empty_quantized(format, {end - begin, r.extent.cols});
  q.sense = module.global ? module.global->sense : r.sense;
  q.reads_minus_zero = r.spelling->reads_minus_zero;
  take_grid(*impl_->container, *module.codes, r.codes, 1, {end - begin, row_bytes(format, r.extent.cols)}, begin,
            q.codes.span());
  if (r.spelling->high_nibble_first)
    for (std::byte& b : q.codes.span()) b = (b << 4) | (b >> 4);
  // Scales that are f32 in memory stand as F32, BF16 or F16; without a tensor they are 1.
  const bool bytes = q.scales.dtype() == DType::kU8;
  const Tensor stored(bytes                      ? DType::kU8
                      : module.scales != nullptr ? module.scales->dtype
                                                 : DType::kF32,
                      q.scales.shape());
  if (module.scales != nullptr)
    take_grid(*impl_->container, *module.scales, r.scales, static_cast<std::size_t>(dtype_bits(stored.dtype())) / 8,
              scale_extent(format, q.extent), begin / block.rows, stored.span());
  else
    std::fill_n(stored.as<float>(), stored.count(), 1.f);
  if (bytes) {
    q.scales = stored;
  } else {
    q.stored_scale = stored.dtype();
    for (std::int64_t i = 0; i < stored.count(); ++i) q.scales.as<float>()[i] = element_as_float(stored, i);
  }
  if (r.format.has_global) q.global.as<float>()[0] = module.global ? module.global->bits : 1.f;
  return q;
}

Tensor Checkpoint::load_dense_rows(const Module& module, std::int64_t begin, std::int64_t end) const {
  TESSERA_ASSERT(!module.is_quantized() && 0 <= begin && begin <= end && end <= module.reading.extent.rows);
  const Extent part{end - begin, module.reading.extent.cols};
  Tensor rows(module.codes->dtype, {part.rows, part.cols});
  take_grid(*impl_->container, *module.codes, module.reading.codes,
            static_cast<std::size_t>(dtype_bits(rows.dtype())) / 8, part, begin, rows.span());
  return rows;
}

void require_scales(const QuantizedTensor& q, std::string_view name) {
  const std::int64_t cols = scale_extent(q.format, q.extent).cols;
  const auto refuse = [&](std::int64_t i, const std::string& what, std::string_view remedy) {
    Error error(Errc::kCorrupt, fmt::format("{}[{}, {}] is {}; {}", name, i / cols, i % cols, what, remedy));
    error.in_tensor(std::string(name));
    throw error;
  };
  for (std::int64_t i = 0; i < q.scales.count(); ++i) {
    if (q.scales.dtype() == DType::kF32) {
      const float s = q.scales.as<float>()[i];
      if (!is_finite(s) || s < 0)
        refuse(i, fmt::format("{}", s), "a scale is a finite number, 0 or more; export the model again");
      continue;
    }
    const std::uint8_t byte = q.scales.as<std::uint8_t>()[i];
    const Element& element = q.format.scale;
    if (element == kE8M0 && byte == 255) refuse(i, "the NaN of E8M0 (255)", "export the model again");
    if (is_nan(decode(element, byte)))
      refuse(i, fmt::format("NaN (byte 0x{:02X})", byte),
             fmt::format("some exporters wrote it for what exceeds {}; export the model again", max_finite(element)));
    if ((byte & element.sign_bit()) != 0 && byte != element.sign_bit())
      refuse(i, fmt::format("negative (byte 0x{:02X})", byte), "block scales are 0 or more; export the model again");
  }
}

}  // namespace tessera
