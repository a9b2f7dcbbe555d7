// An MI300X, as HIP describes it.
#include "driver/hip_device.h"

#include <cstdlib>
#include <cstring>

#include "driver/driver.h"
#include "driver/model.h"

namespace softgpu {
namespace {

Model make_model() {
  const char* named = getenv("SOFTGPU_ARCH");
  const std::string architecture = named ? named : "gfx942";
  const bool cdna = architecture.rfind("gfx9", 0) == 0;
  const std::string version = architecture.substr(3);  // gfx1030 is 10.3, stepping 0
  return {.name = "Soft GPU (HIP)",
          .architecture = architecture,
          .major = std::stoi(version.substr(0, version.size() - 2)),
          .minor = version[version.size() - 2] - '0',
          .warp_size = cdna ? 64 : 32,
          .multiprocessors = cdna ? 304 : 96,
          .max_threads_per_multiprocessor = 2048,
          .max_blocks_per_multiprocessor = 32,
          .max_block_z = 1024,
          .shared_per_block = 64 << 10,
          .shared_per_block_optin = 64 << 10,
          .shared_per_multiprocessor = 64 << 10,
          .registers_per_block = 65536,
          .driver_version = variable("SOFTGPU_DRIVER", 70000000),
          .clock_khz = 2100000,
          .memory_clock_khz = 1300000,
          .memory_bus_bits = 8192,
          .l2_bytes = 4 << 20};
}

}  // namespace

const Model& model() {
  static const Model& m = *new Model(make_model());
  return m;
}

int hip_attribute(int number) {
  const Model& m = model();
  switch (number) {
    case 2: return 2;  // copy engines
    case 5: return m.clock_khz;
    case 8: return 1;  // concurrent kernels
    case 19: return m.l2_bytes;
    case 23: return m.major;
    case 25: return m.max_blocks_per_multiprocessor;
    case 26:
    case 27:
    case 55:
    case 56: return Model::max_threads;
    case 28: return m.max_block_z;
    case 29: return int(Model::max_grid_x);
    case 30:
    case 31: return int(Model::max_grid_yz);
    case 57: return m.max_threads_per_multiprocessor;
    case 59: return m.memory_bus_bits;
    case 60: return m.memory_clock_khz;
    case 61: return m.minor;
    case 63: return m.multiprocessors;
    case 71:
    case 72: return m.registers_per_block;
    case 74: return m.shared_per_block;
    case 75: return m.shared_per_block_optin;
    case 76:
    case 10002: return m.shared_per_multiprocessor;
    case 85: return 1;  // unified addressing
    case 87: return m.warp_size;
    case 88: return 1;  // stream-ordered allocation
    default: return 0;
  }
}

int hip_properties(HipProperties* p, int device) {
  if (!p) return invalid_value;
  if (!device_at(device)) return invalid_device;
  const Model& m = model();
  memset(p, 0, sizeof *p);
  strncpy(p->name, m.name, sizeof p->name - 1);
  strncpy(p->architecture, m.architecture.c_str(), sizeof p->architecture - 1);
  p->shared_per_block = m.shared_per_block;
  p->registers_per_block = m.registers_per_block;
  p->warp_size = m.warp_size;
  p->max_threads = p->max_block[0] = p->max_block[1] = Model::max_threads;
  p->max_block[2] = m.max_block_z;
  p->max_grid[0] = int(Model::max_grid_x);
  p->max_grid[1] = p->max_grid[2] = int(Model::max_grid_yz);
  p->clock_khz = m.clock_khz;
  p->major = m.major;
  p->minor = m.minor;
  p->multiprocessors = m.multiprocessors;
  p->memory_clock_khz = m.memory_clock_khz;
  p->memory_bus_bits = m.memory_bus_bits;
  p->l2_bytes = m.l2_bytes;
  p->max_threads_per_multiprocessor = m.max_threads_per_multiprocessor;
  return total_memory(*device_at(device), &p->total_memory);
}

}  // namespace softgpu
