// Buffer: shared ownership of bytes on one device. The tensors that are slices of it keep it alive.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "tessera/tensor/device.h"

namespace tessera {

class Buffer final {
 public:
  Buffer() = default;  // empty
  // Uninitialized bytes, aligned to 64 on the CPU and 256 on CUDA. Throws kResource, saying how many were wanted.
  Buffer(std::size_t bytes, Device device);
  // Bytes that somebody else owns; `release` runs when the last tensor lets go.
  static Buffer adopt(void* data, std::size_t bytes, Device device, std::function<void()> release);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_{};
};

}  // namespace tessera
