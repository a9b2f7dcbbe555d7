// Dropout in training mode that drops nothing (--train-mode=keep).
#pragma once
#include <torch/csrc/jit/api/module.h>

namespace tenon::libtorch {

/// From now on dropout in the module's methods, alone, in attention or between the layers of a recurrent one,
/// is that of eval mode, whatever the file says. What else training mode changes stays.
void keep_all(const torch::jit::Module&);

}  // namespace tenon::libtorch
