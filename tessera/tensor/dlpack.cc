#include "tessera/tensor/dlpack.h"

#include <memory>

#include "tessera/base/error.h"

namespace tessera {
namespace {

// Codes of DLPack v1.0: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool.
struct Code {
  DType dtype;
  std::uint8_t code, bits;
};
constexpr Code kCodes[] = {{DType::kBool, 6, 8}, {DType::kU8, 1, 8},   {DType::kI8, 0, 8},    {DType::kI16, 0, 16},
                           {DType::kU16, 1, 16}, {DType::kF16, 2, 16}, {DType::kBf16, 4, 16}, {DType::kI32, 0, 32},
                           {DType::kU32, 1, 32}, {DType::kF32, 2, 32}, {DType::kC64, 5, 64},  {DType::kF64, 2, 64},
                           {DType::kI64, 0, 64}, {DType::kU64, 1, 64}};

struct Export {  // keeps the bytes and the shape that DLPack points to
  Tensor tensor;
  DlManagedTensor managed;
};

}  // namespace

DlManagedTensor* to_dlpack(const Tensor& tensor) {
  for (const Code& c : kCodes) {
    if (c.dtype != tensor.dtype()) continue;
    auto owned = std::make_unique<Export>(Export{tensor, {}});
    DlTensor& t = owned->managed.tensor;
    t.data = tensor.data();
    t.device = {tensor.device().is_cpu() ? 1 : 2, tensor.device().index};
    t.ndim = static_cast<std::int32_t>(tensor.shape().size());
    t.dtype = {c.code, c.bits, 1};
    t.shape =
        const_cast<std::int64_t*>(owned->tensor.shape().data());  // DLPack's struct is not const; nobody writes it
    t.strides = nullptr;
    t.byte_offset = 0;
    owned->managed.context = owned.get();
    owned->managed.deleter = [](DlManagedTensor* m) { delete static_cast<Export*>(m->context); };
    return &owned.release()->managed;
  }
  fail(Errc::kUnsupported, "DLPack 1.0 has no code for {}; export the bytes as U8", dtype_name(tensor.dtype()));
}

Tensor from_dlpack(DlManagedTensor* managed) {
  const DlTensor& t = managed->tensor;
  require(t.device.type == 1 || t.device.type == 2, Errc::kUnsupported,
          "DLPack device type {}; CPU (1) and CUDA (2) are taken", t.device.type);
  Shape shape(t.shape, t.shape + t.ndim);
  std::int64_t expected = 1;
  for (std::int32_t i = t.ndim - 1; t.strides != nullptr && i >= 0; --i) {
    require(t.shape[i] == 1 || t.strides[i] == expected, Errc::kUnsupported,
            "the array {} is not contiguous and row-major (stride {} on axis {}, wanted {}); copy it first",
            shape_text(shape), t.strides[i], i, expected);
    expected *= t.shape[i];
  }
  for (const Code& c : kCodes) {
    if (c.code != t.dtype.code || c.bits != t.dtype.bits || t.dtype.lanes != 1) continue;
    const Device device{t.device.type == 1 ? Device::Kind::kCpu : Device::Kind::kCuda,
                        t.device.type == 1 ? 0 : t.device.id};
    const std::size_t bytes = tensor_bytes(c.dtype, shape);
    Buffer buffer = Buffer::adopt(static_cast<std::byte*>(t.data) + t.byte_offset, bytes, device, [managed] {
      if (managed->deleter != nullptr) managed->deleter(managed);
    });
    return {c.dtype, std::move(shape), std::move(buffer)};
  }
  fail(Errc::kUnsupported, "DLPack type code {} of {} bits and {} lanes has no counterpart", t.dtype.code, t.dtype.bits,
       t.dtype.lanes);
}

}  // namespace tessera
