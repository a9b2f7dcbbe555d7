// Operators of the CPU whose results are as large as their data says.
#pragma once
#include <span>

#include "runtime/device.h"

namespace tenon {

std::span<const SizedKernel> sized_kernels();
std::vector<Tensor> unique_elements(const Node&, std::span<const Tensor> in, OpenDevice&);

}  // namespace tenon
