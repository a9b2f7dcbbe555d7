// The vendors' libraries of matrix products, cuBLASLt and hipBLASLt, found while the program runs.
#pragma once
#include "runtime/gpu/library.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {

struct Blas : KernelLibrary {
  BlasNumbers numbers;

#define GPU_BLAS_FUNCTION(function, cuda, hip, arguments) int(*function) arguments = nullptr;
#include "runtime/gpu/blas_functions.def"
#undef GPU_BLAS_FUNCTION
};

/// Looked for once. Where it is not ok(), nothing of it may be called.
const Blas& blas(Vendor);
/// The library in use on this GPU: made once, for as long as the program runs. Throws Error.
void* blas_handle(Gpu&);
/// "13.0.2 (libcublasLt.so.13)". Throws Error where the library does not work on this GPU.
std::string blas_version(Gpu&);

}  // namespace tenon::gpu
