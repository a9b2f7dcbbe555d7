// An H100, as CUDA describes it.
#include "driver/cuda_device.h"

#include <cstdlib>
#include <cstring>

#include "driver/model.h"

namespace softgpu {
namespace {

Model make_model() {
  const char* named = getenv("SOFTGPU_ARCH");
  const std::string architecture = named ? named : "sm_90";
  const int capability = atoi(architecture.c_str() + strlen("sm_"));
  return {.name = "Soft GPU (CUDA)",
          .architecture = architecture,
          .major = capability / 10,
          .minor = capability % 10,
          .warp_size = 32,
          .multiprocessors = 132,
          .max_threads_per_multiprocessor = 2048,
          .max_blocks_per_multiprocessor = 32,
          .max_block_z = 64,
          .shared_per_block = 48 << 10,
          .shared_per_block_optin = 227 << 10,
          .shared_per_multiprocessor = 228 << 10,
          .registers_per_block = 65536,
          .driver_version = variable("SOFTGPU_DRIVER", 13000),
          .clock_khz = 1980000,
          .memory_clock_khz = 2619000,
          .memory_bus_bits = 5120,
          .l2_bytes = 50 << 20};
}

}  // namespace

const Model& model() {
  static const Model& m = *new Model(make_model());
  return m;
}

int cuda_attribute(int number) {
  const Model& m = model();
  switch (number) {
    case 1:
    case 2:
    case 3: return number == 3 ? m.max_block_z : Model::max_threads;
    case 5: return int(Model::max_grid_x);
    case 6:
    case 7: return int(Model::max_grid_yz);
    case 8: return m.shared_per_block;
    case 9: return 64 << 10;  // constant memory
    case 10: return m.warp_size;
    case 12:
    case 82: return m.registers_per_block;
    case 13: return m.clock_khz;
    case 15:
    case 31:
    case 41: return 1;  // overlap, concurrent kernels, unified addressing
    case 16: return m.multiprocessors;
    case 36: return m.memory_clock_khz;
    case 37: return m.memory_bus_bits;
    case 38: return m.l2_bytes;
    case 39: return m.max_threads_per_multiprocessor;
    case 40: return 2;  // copy engines
    case 75: return m.major;
    case 76: return m.minor;
    case 81: return m.shared_per_multiprocessor;
    case 97: return m.shared_per_block_optin;
    case 106: return m.max_blocks_per_multiprocessor;
    case 111: return 1 << 10;  // shared memory that the driver keeps of each block
    case 115: return 1;        // stream-ordered allocation
    default: return 0;
  }
}

}  // namespace softgpu
