// The driver and the run-time compiler beside us, for a library that runs a kernel of its own.
#pragma once
#include "blas/kernel.h"

namespace softgpu {

/// In the stream. The driver's status, or the compiler's.
int run_product(const void* a, const void* b, void* d, const void* bias, void* workspace, const ProductShape&,
                void* stream);

}  // namespace softgpu
