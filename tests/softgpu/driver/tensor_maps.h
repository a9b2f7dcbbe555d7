// Tensor maps: matrices as bulk copies read them.
#pragma once
#include <cstdint>

namespace softgpu {

/// The arguments of cuTensorMapEncodeTiled, with the numbers of CUDA's enumerations.
struct TensorMapRequest {
  int dtype;
  unsigned rank;
  uint64_t address;
  const uint64_t *extent, *stride;
  const unsigned *box, *step;
  int interleave, swizzle, promotion, fill;
};
int encode_tensor_map(void* map, const TensorMapRequest&);

}  // namespace softgpu
