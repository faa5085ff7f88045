// Tensor: a dense array, contiguous and row-major, on one device. A value: copies share bytes. The only view is a slice
// of the leading axis.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/numeric/dtype.h"
#include "tessera/numeric/format.h"
#include "tessera/tensor/buffer.h"

namespace tessera {

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(std::span<const std::int64_t> shape);             // 1 for a scalar
std::size_t tensor_bytes(DType dtype, std::span<const std::int64_t> shape);  // whole bytes, rounded up
std::string shape_text(std::span<const std::int64_t> shape);                 // "[128, 64]"

class Tensor final {
 public:
  Tensor() = default;                                      // no elements, shape [0]
  Tensor(DType dtype, Shape shape, Device device = kCpu);  // uninitialized; throws kResource
  // `bytes` of `buffer` from `offset`. Throws kShape unless they are there.
  Tensor(DType dtype, Shape shape, Buffer buffer, std::size_t offset = 0);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Device device() const { return buffer_.device(); }
  std::int64_t count() const { return element_count(shape_); }
  std::size_t bytes() const { return tensor_bytes(dtype_, shape_); }
  std::byte* data() const { return buffer_.data() + offset_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  std::span<std::byte> span() const { return {data(), bytes()}; }

  // Of a matrix: [rows, cols]; of more axes the leading ones count as rows, of one axis there is one row.
  Extent extent() const;
  // Rows [begin, end) of the leading axis, sharing bytes. Throws kShape out of range, or where a row does not end on a
  // byte.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  Tensor reshaped(Shape shape) const;  // the same bytes; throws kShape unless the counts agree

 private:
  DType dtype_ = DType::kU8;
  Shape shape_{0};
  Buffer buffer_;
  std::size_t offset_ = 0;
};

Tensor scalar(float value, Device device = kCpu);            // f32, shape []
Tensor copy(Stream& stream, const Tensor& from, Device to);  // always new bytes
// Elements [begin, begin + into.size()) as f32, exactly. F32, BF16, F16, F8*; on the CPU; throws kUnsupported.
void read_floats(const Tensor& t, std::int64_t begin, std::span<float> into);
float element_as_float(const Tensor& t, std::int64_t index);  // F32, BF16, F16, F8*; on the CPU; throws kUnsupported

}  // namespace tessera
