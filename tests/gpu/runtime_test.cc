// The device runtime: memory, copies in every direction, errors in words.
#include "tessera/base/error.h"
#include "tessera/kernels/cuda/quantize.h"
#include "tessera/tensor/cuda_runtime.h"
#include "tests/gpu/cases.h"

namespace tessera::test {
namespace {

class Runtime : public Gpu {};

TEST_F(Runtime, CopiesBytesThereAndBack) {
  const Tensor host = random_bytes(DType::kU8, {3, 1000003}, 1);
  const Tensor there = copy(gpu(), host, gpu().device());
  const Tensor elsewhere = copy(gpu(), there, gpu().device());
  EXPECT_EQ(difference(host, copy(gpu(), elsewhere, kCpu), "bytes"), "");
  EXPECT_EQ(difference(host, copy(cpu(), there, kCpu), "through a CPU stream"), "");
}

TEST_F(Runtime, AlignsBuffersTo256Bytes) {
  for (const std::size_t bytes : {1u, 100u, 4097u})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Buffer(bytes, gpu().device()).data()) % 256, 0u) << bytes;
}

TEST_F(Runtime, SaysHowMuchMemoryWasWanted) {
  const std::size_t wanted = std::size_t{1} << 50;
  try {
    const Buffer buffer(wanted, gpu().device());
    ADD_FAILURE() << "a petabyte was there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::kResource);
    EXPECT_NE(error.message().find(std::to_string(wanted)), std::string::npos) << error.message();
  }
  gpu().synchronize();  // the failure is not the next call's
}

TEST_F(Runtime, NamesADeviceThatIsNotHere) {
  EXPECT_THROW(Stream(Device{Device::Kind::kCuda, 99}, 1), Error);
  EXPECT_NE(cuda::availability().find("cuda:0"), std::string::npos) << cuda::availability();
}

TEST_F(Runtime, ListsTheKernelsThatNobodyCouldTest) {
  int untested = 0;
  for (const cuda::QuantizeVariant& variant : cuda::quantize_variants()) untested += variant.untested_here ? 1 : 0;
  EXPECT_EQ(untested, 1);
  EXPECT_FALSE(cuda::quantize_variants().back().untested_here);
}

}  // namespace
}  // namespace tessera::test
