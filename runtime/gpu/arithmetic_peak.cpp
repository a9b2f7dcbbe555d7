#include "runtime/gpu/arithmetic_peak.h"

#include <algorithm>
#include <tuple>

namespace tenon::gpu {
namespace {

struct Architecture {
  Vendor vendor;
  int major, minor;
  double lanes, f32, f64, tf32, f16, bf16, f8, i8;  // of a clock and multiprocessor; 0: has no such units
};

// Operations, of which a multiply-add is two. Sources: NVIDIA's white papers of Volta, Turing, Ampere (GA100,
// GA102), Ada and Hopper, its data sheets of HGX B200 and RTX PRO 6000 Blackwell; AMD's of CDNA 2 to 4 and
// RDNA 2 to 4: what they say of a GPU, divided by its clock and its processors.
constexpr Architecture architectures[] = {
    {Vendor::cuda, 7, 0, 128, 0, 64, 0, 1024, 0, 0, 0},
    {Vendor::cuda, 7, 5, 128, 0, 4, 0, 1024, 0, 0, 2048},
    {Vendor::cuda, 8, 0, 128, 0, 128, 1024, 2048, 2048, 0, 4096},
    {Vendor::cuda, 8, 6, 256, 0, 4, 512, 1024, 1024, 0, 2048},
    {Vendor::cuda, 8, 9, 256, 0, 4, 512, 1024, 1024, 2048, 2048},
    {Vendor::cuda, 9, 0, 256, 0, 256, 2048, 4096, 4096, 8192, 8192},
    {Vendor::cuda, 10, 0, 256, 0, 128, 4096, 8192, 8192, 16384, 16384},
    {Vendor::cuda, 12, 0, 256, 0, 4, 512, 1024, 1024, 2048, 2048},
    {Vendor::hip, 9, 0, 128, 256, 256, 0, 1024, 1024, 0, 1024},        // gfx90a
    {Vendor::hip, 9, 4, 256, 256, 256, 1024, 2048, 2048, 4096, 4096},  // gfx942
    {Vendor::hip, 9, 5, 256, 256, 128, 0, 4096, 4096, 8192, 8192},
    {Vendor::hip, 10, 1, 256, 0, 16, 0, 0, 0, 0, 0},
    {Vendor::hip, 11, 0, 512, 0, 16, 0, 1024, 1024, 0, 1024},
    {Vendor::hip, 12, 0, 512, 0, 8, 0, 2048, 2048, 4096, 4096},
};

Architecture architecture_of(const ArithmeticUnits& units) {
  Architecture found{.vendor = units.vendor, .lanes = 256};
  for (const Architecture& a : architectures) {
    const bool is_later = std::tie(a.major, a.minor) > std::tie(units.major, units.minor);
    if (a.vendor == units.vendor && !is_later) found = a;
  }
  return found;
}

}  // namespace

Peak arithmetic_peak(const ArithmeticUnits& units) {
  const Architecture a = architecture_of(units);
  const double clocks = units.clock_ghz * units.multiprocessors;
  // GeForce sums in float32 at half the rate of other products (the white papers of GA102 and AD102).
  const double floats = clocks * (units.name.find("GeForce") != std::string_view::npos ? 0.5 : 1);
  using enum ArithmeticKind;
  Peak peak{.gflops = clocks * a.lanes};
  peak.own_gflops(tf32) = floats * a.tf32;
  peak.own_gflops(f32) = std::max(peak.gflops, a.f32 > 0 ? clocks * a.f32 : floats * a.tf32 / 3);
  peak.own_gflops(f64) = clocks * a.f64;
  peak.own_gflops(f16) = floats * a.f16;
  peak.own_gflops(bf16) = floats * a.bf16;
  peak.own_gflops(f8) = floats * std::max(a.f8, a.f16);
  peak.own_gflops(i8) = clocks * a.i8;
  return peak;
}

}  // namespace tenon::gpu
