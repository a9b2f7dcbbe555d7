// The driver and the run-time compiler beside us, for a library that runs kernels of its own.
#pragma once

namespace softgpu {

/// A kernel of the source with so many threads at least, in the stream. The arguments end with a null. The
/// driver's status, or the compiler's.
int launch(const char* source, const char* kernel, long long threads, void** arguments, void* stream);

}  // namespace softgpu
