// What HIP says of the device. HIP's headers are not at hand: numbers and layouts follow hip_runtime_api.h of
// ROCm 6, which ROCm 7 kept for what is here.
#pragma once
#include <cstddef>

namespace softgpu {

/// The value of a hipDeviceAttribute_t; zero for what is not known.
int hip_attribute(int number);

/// hipDeviceProp_t of ROCm 6 and later: the fields that are filled in, at their places.
struct HipProperties {
  char name[256];
  char ids[28];
  size_t total_memory;
  size_t shared_per_block;
  int registers_per_block, warp_size;
  size_t max_pitch;
  int max_threads, max_block[3], max_grid[3], clock_khz;
  size_t constant_memory;
  int major, minor;
  char unused_1[20];
  int multiprocessors;
  char unused_2[216];
  int memory_clock_khz, memory_bus_bits, l2_bytes, persisting_l2_bytes, max_threads_per_multiprocessor;
  char unused_3[532];
  char architecture[256];
  char unused_4[56];
};
static_assert(offsetof(HipProperties, total_memory) == 288 &&
              offsetof(HipProperties, multiprocessors) == 388);
static_assert(offsetof(HipProperties, l2_bytes) == 616 && offsetof(HipProperties, architecture) == 1160);
static_assert(sizeof(HipProperties) == 1472);

int hip_properties(HipProperties* properties, int device);

}  // namespace softgpu
