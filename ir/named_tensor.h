// A tensor as files hold it.
#pragma once
#include <string>

#include "ir/tensor.h"

namespace tenon {

struct NamedTensor {
  std::string name;  // empty where the file gives none
  Tensor tensor;
};

}  // namespace tenon
