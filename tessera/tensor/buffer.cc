#include "tessera/tensor/buffer.h"

#include <cstdlib>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/tensor/cuda_runtime.h"

namespace tessera {

Buffer::Buffer(std::size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (bytes == 0) return;
  if (device.is_cpu()) {
    const std::size_t rounded = (bytes + 63) / 64 * 64;
    void* data = rounded >= bytes ? std::aligned_alloc(64, rounded) : nullptr;
    require(data != nullptr, Errc::kResource, "out of memory: {} bytes wanted", bytes);
    owner_ = std::shared_ptr<void>(data, [](void* p) { std::free(p); });
  } else {
    const int index = device.index;
    owner_ = std::shared_ptr<void>(cuda::allocate(bytes, index), [index](void* p) { cuda::release(p, index); });
  }
  data_ = static_cast<std::byte*>(owner_.get());
}

Buffer Buffer::adopt(void* data, std::size_t bytes, Device device, std::function<void()> release) {
  Buffer buffer;
  buffer.owner_ = std::shared_ptr<void>(data, [release = std::move(release)](void*) {
    if (release) release();
  });
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.bytes_ = bytes;
  buffer.device_ = device;
  return buffer;
}

}  // namespace tessera
