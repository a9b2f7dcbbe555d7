// The GPU that the driver pretends to be. Each library defines its own (cuda.cpp, hip.cpp).
#pragma once
#include <cstdlib>
#include <string>

namespace softgpu {

struct Model {
  const char* name;
  std::string architecture;  // sm_90, gfx942; SOFTGPU_ARCH changes it
  int major, minor, warp_size;
  int multiprocessors, max_threads_per_multiprocessor, max_blocks_per_multiprocessor, max_block_z;
  int shared_per_block, shared_per_block_optin, shared_per_multiprocessor;  // bytes
  int registers_per_block;
  int driver_version;  // 13000 is CUDA 13.0, 70000000 is HIP 7.0; SOFTGPU_DRIVER changes it
  int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;

  static constexpr int max_threads = 1024;  // of a block, and along x and y
  static constexpr unsigned max_grid_x = 2147483647, max_grid_yz = 65535;
};

const Model& model();

/// What the environment's variable says, else the default.
inline int variable(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

}  // namespace softgpu
