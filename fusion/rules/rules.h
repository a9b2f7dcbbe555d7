// The operators that are raised from their spelled-out form; relatives share a file.
#pragma once
#include "fusion/rule.h"

namespace tenon {

Rule raise_gelu();
Rule raise_gelu_tanh();
Rule raise_silu();
Rule raise_softmax();
Rule raise_layer_norm();
Rule raise_rms_norm();
Rule raise_attention();

}  // namespace tenon
