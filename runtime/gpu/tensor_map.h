// Matrices in a GPU's memory, encoded for its bulk copies.
#pragma once
#include <array>
#include <cstddef>

#include "kernels/gpu/tensor_map.h"
#include "runtime/gpu/driver.h"

namespace tenon::gpu {

/// A CUtensorMap: a kernel's parameter.
struct alignas(128) EncodedMap {
  std::array<std::byte, 128> bytes;
};
/// Of a matrix that begins at this address. The driver is CUDA's. Throws Error (environment_failed).
EncodedMap encode(const Driver&, const TensorMap&, std::byte* begin);

}  // namespace tenon::gpu
