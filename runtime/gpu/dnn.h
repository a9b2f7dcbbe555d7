// The vendors' libraries of convolutions, cuDNN and MIOpen, found while the program runs.
#pragma once
#include "runtime/gpu/library.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {

struct Dnn : KernelLibrary {
  DnnNumbers numbers;

#define GPU_DNN_FUNCTION(function, cuda, hip, arguments) int(*function) arguments = nullptr;
#include "runtime/gpu/dnn_functions.def"
#undef GPU_DNN_FUNCTION

  int number_of(DType) const;
};

/// Looked for once. Where it is not ok(), nothing of it may be called.
const Dnn& dnn(Vendor);
/// The library in use on this GPU: made once, for as long as the program runs. Throws Error.
LibraryHandle& dnn_handle(Gpu&);
/// "9.28.1 (libcudnn.so.9)". Throws Error where the library does not work on this GPU.
std::string dnn_version(Gpu&);

}  // namespace tenon::gpu
