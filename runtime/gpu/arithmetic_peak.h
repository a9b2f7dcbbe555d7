// What the arithmetic units of a GPU do at most, by what its driver says of it.
#pragma once
#include <string_view>

#include "kernels/peak.h"
#include "runtime/gpu/driver.h"

namespace tenon::gpu {

struct ArithmeticUnits {
  Vendor vendor;
  int major, minor;       // of the architecture: 9 and 0 of sm_90, 9 and 4 of gfx942
  std::string_view name;  // "NVIDIA GeForce RTX 4090"
  int multiprocessors;    // of AMD's RDNA: pairs of compute units
  double clock_ghz;
};

/// The rates of arithmetic alone. Matrix units multiply whole matrices (no zeros are left out), and sum in
/// float32. Products of float32 and of float8 are those of docs/gpu.md: three of TF32, or as float16, where
/// the units have none. An architecture that is not known does what the one before it does, and one before
/// all of them has 128 lanes.
Peak arithmetic_peak(const ArithmeticUnits&);

}  // namespace tenon::gpu
