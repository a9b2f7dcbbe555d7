// The discrete Fourier transform as the text of a GPU kernel (fft.gpu.h).
#pragma once
#include <string>

#include "base/dtype.h"

namespace tenon::gpu {

/// The kernel `fft` of c64 or c128: dense lines, their transforms, where `in_shared` is false memory for 3
/// numbers an element; then the length (i64) and whether it is the inverse (i64). A block of fft_block
/// threads a line; with `in_shared` it has shared memory for 3 numbers an element.
std::string fft_source(DType dtype, bool in_shared);
inline constexpr int fft_block = 256;

}  // namespace tenon::gpu
