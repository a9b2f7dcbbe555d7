// The system calls that LibTorch needs to read and run a model on the CPU.
#pragma once

namespace tenon::libtorch {

/// Every other one fails from now on with EPERM, in all threads. Throws std::runtime_error when the kernel
/// has such filters and yet refuses this one; where it has none, returns false.
bool allow_needed_system_calls();

}  // namespace tenon::libtorch
