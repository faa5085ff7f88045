// While it lives, this thread's vector arithmetic takes and gives subnormals as zeros of their sign.
#pragma once
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tessera::cpu {

class FlushScope final {
 public:
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;
#if defined(__x86_64__)
  FlushScope() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }  // flush to zero, denormals are zero
  ~FlushScope() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  FlushScope() = default;
#endif
};

}  // namespace tessera::cpu
