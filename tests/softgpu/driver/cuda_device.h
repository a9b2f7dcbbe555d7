// What CUDA says of the device.
#pragma once

namespace softgpu {

/// The value of a CUdevice_attribute; zero for what is not known, which is "not supported" for most.
int cuda_attribute(int number);

}  // namespace softgpu
