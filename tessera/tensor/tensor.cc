#include "tessera/tensor/tensor.h"

#include <bit>
#include <cstring>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera {

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t n : shape) fits = fits && n >= 0 && !__builtin_mul_overflow(count, n, &count);
  if (!fits) fail(Errc::kShape, "no tensor has the shape {}", shape_text(shape));  // count() is called in loops
  return count;
}

std::size_t tensor_bytes(DType dtype, std::span<const std::int64_t> shape) {
  std::int64_t bits = 0;
  require(!__builtin_mul_overflow(element_count(shape), std::int64_t{dtype_bits(dtype)}, &bits), Errc::kShape,
          "no tensor of {} has the shape {}", dtype_name(dtype), shape_text(shape));
  return static_cast<std::size_t>(ceil_div(bits, 8));
}

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Tensor::Tensor(DType dtype, Shape shape, Device device)
    : dtype_(dtype), shape_(std::move(shape)), buffer_(tensor_bytes(dtype_, shape_), device) {}

Tensor::Tensor(DType dtype, Shape shape, Buffer buffer, std::size_t offset)
    : dtype_(dtype), shape_(std::move(shape)), buffer_(std::move(buffer)), offset_(offset) {
  require(offset_ <= buffer_.bytes() && bytes() <= buffer_.bytes() - offset_, Errc::kShape,
          "{} {} needs {} bytes from {} of a buffer of {}", dtype_name(dtype_), shape_text(shape_), bytes(), offset_,
          buffer_.bytes());
}

Extent Tensor::extent() const {
  if (shape_.empty()) return {1, 1};
  const std::int64_t cols = shape_.back();
  return {cols == 0 ? element_count(std::span(shape_).first(shape_.size() - 1)) : count() / cols, cols};
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  require(!shape_.empty() && 0 <= begin && begin <= end && end <= shape_[0], Errc::kShape,
          "rows {} to {} of a tensor {}", begin, end, shape_text(shape_));
  const std::int64_t row_bits = element_count(std::span(shape_).subspan(1)) * dtype_bits(dtype_);
  require(row_bits % 8 == 0, Errc::kShape, "a row of {} {} does not end on a byte", dtype_name(dtype_),
          shape_text(shape_));
  Shape shape = shape_;
  shape[0] = end - begin;
  return {dtype_, std::move(shape), buffer_, offset_ + static_cast<std::size_t>(begin * (row_bits / 8))};
}

Tensor Tensor::reshaped(Shape shape) const {
  require(element_count(shape) == count(), Errc::kShape, "{} does not have the elements of {}", shape_text(shape_),
          shape_text(shape));
  return {dtype_, std::move(shape), buffer_, offset_};
}

Tensor scalar(float value, Device device) {
  Tensor host(DType::kF32, {});
  std::memcpy(host.data(), &value, sizeof value);
  if (device.is_cpu()) return host;
  Stream stream(device, 1);
  return copy(stream, host, device);
}

Tensor copy(Stream& stream, const Tensor& from, Device to) {
  Tensor result(from.dtype(), from.shape(), to);
  if (from.bytes() == 0) return result;
  if (from.device().is_cpu() && to.is_cpu())
    std::memcpy(result.data(), from.data(), from.bytes());
  else
    cuda::copy(result.data(), from.data(), from.bytes(), stream.native());
  return result;
}

void read_floats(const Tensor& t, std::int64_t begin, std::span<float> into) {
  if (t.dtype() == DType::kF32) {
    std::memcpy(into.data(), t.as<float>() + begin, into.size_bytes());
  } else if (t.dtype() == DType::kBf16) {
    const std::uint16_t* from = t.as<std::uint16_t>() + begin;
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
  } else {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = element_as_float(t, begin + static_cast<std::int64_t>(i));
  }
}

float element_as_float(const Tensor& t, std::int64_t index) {
  TESSERA_ASSERT(t.device().is_cpu());
  switch (t.dtype()) {
    case DType::kF32:
      return t.as<float>()[index];
    case DType::kBf16:
      return decode(kE8M7, t.as<std::uint16_t>()[index]);
    case DType::kF16:
      return decode(kE5M10, t.as<std::uint16_t>()[index]);
    case DType::kF8E4M3:
      return decode(kE4M3, t.as<std::uint8_t>()[index]);
    case DType::kF8E5M2:
      return decode(kE5M2, t.as<std::uint8_t>()[index]);
    case DType::kF8E8M0:
      return decode(kE8M0, t.as<std::uint8_t>()[index]);
    default:
      fail(Errc::kUnsupported, "{} has no value as a float", dtype_name(t.dtype()));
  }
}

}  // namespace tessera
