// DLPack: tensors in and out of other libraries without a copy.
// Source: DLPack v1.0 C header; the layout of its structs is a stable ABI and is restated here.
#pragma once
#include <cstdint>

#include "tessera/tensor/tensor.h"

namespace tessera {

struct DlDevice {
  std::int32_t type;  // 1: CPU, 2: CUDA
  std::int32_t id;
};
struct DlDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // elements; null: row-major
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};

// The caller owns the result and calls its deleter once. Throws kUnsupported for a dtype that DLPack v1.0 has no code
// for.
DlManagedTensor* to_dlpack(const Tensor& tensor);
// Takes ownership. Throws kUnsupported for a dtype, device or strides that a Tensor cannot hold (then nothing is
// taken).
Tensor from_dlpack(DlManagedTensor* managed);

}  // namespace tessera
