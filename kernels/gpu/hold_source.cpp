#include "kernels/gpu/hold_source.h"

#include "kernels/gpu/loop_source.h"

namespace tenon::gpu {

std::string hold_source() {
  return translation_unit(
      "kernels/gpu/hold.gpu.h",
      "extern \"C\" __global__ void hold(long long nanoseconds) { hold_for(nanoseconds); }\n");
}

}  // namespace tenon::gpu
