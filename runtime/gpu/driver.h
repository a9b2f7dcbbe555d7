// The driver and the run-time compiler of a GPU's vendor, found in their libraries while the program runs:
// one program for machines with a GPU and without.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::gpu {

enum class Vendor { cuda, hip };
inline constexpr std::array vendors{Vendor::cuda, Vendor::hip};

/// What the vendors number differently.
enum class Attribute {
  multiprocessors,
  warp_size,
  clock_khz,
  compute_major,
  compute_minor,
};

/// A library that was looked for.
struct Library {
  std::string wanted;  // the names it goes by, in the order they are tried
  std::string found;   // the name or path it was opened by; empty: none
  std::string lacks;   // a function that it should have
  bool ok() const { return !found.empty() && lacks.empty(); }
};

struct Driver {
  Vendor vendor;
  std::string_view name;  // "cuda": of its devices, before the colon
  Library library, compiler;

#define GPU_FUNCTION(function, cuda, hip, arguments) int(*function) arguments = nullptr;
#define GPU_COMPILER_FUNCTION GPU_FUNCTION
#include "runtime/gpu/functions.def"
#undef GPU_FUNCTION
#undef GPU_COMPILER_FUNCTION

  bool ok() const { return library.ok() && compiler.ok(); }
  int attribute(Attribute attribute, int device) const;
  /// "driver 13000 (libcuda.so.1), compiler 13.0 (libnvrtc.so.13)"
  std::string versions() const;
  /// "sm_80", "sm_90a": what the compiler compiles for; empty where it finds that out itself.
  std::string architecture(int device) const;
  /// Throws Error (environment_failed) with what was tried and what the driver says, unless `result` is 0.
  void check(int result, std::string_view tried) const;
};

std::string_view name_of(Vendor);
/// Looked for once. Not ok() where a library is missing; nothing else of it may be called then.
const Driver& driver(Vendor);

}  // namespace tenon::gpu
