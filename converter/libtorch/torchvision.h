// The operators of torchvision, which LibTorch does not have, as plain references.
#pragma once

namespace tenon::libtorch {

/// Registers them, once.
void register_torchvision();

}  // namespace tenon::libtorch
