// The vendors' libraries of matrix products, cuBLASLt and hipBLASLt, found while the program runs.
#pragma once
#include "runtime/gpu/gpu.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {

struct Blas {
  Library library;
  BlasNumbers numbers;

#define GPU_BLAS_FUNCTION(function, cuda, hip, arguments) int(*function) arguments = nullptr;
#include "runtime/gpu/blas_functions.def"
#undef GPU_BLAS_FUNCTION

  bool ok() const { return library.ok(); }
  /// Throws Error (environment_failed) unless `result` is 0.
  void check(int result, std::string_view tried) const;
};

/// Looked for once. Where it is not ok(), nothing of it may be called.
const Blas& blas(Vendor);
/// The library in use on this GPU: made once, for as long as the program runs. Throws Error.
void* blas_handle(Gpu&);
/// "13.0.2 (libcublasLt.so.13)"
std::string blas_version(Gpu&);

}  // namespace tenon::gpu
