// The one kind of code that may run while a file is loaded: PyTorch's, which packs the weights of quantised
// modules.
#pragma once
#include <string_view>

namespace tenon::torchscript {

/// True when every `__setstate__` of a code file, and what it calls, is written as PyTorch writes it for its
/// quantised modules: it puts the items of the state into attributes and packs a weight and a bias. Neither a
/// loop nor a call of anything else can stand there.
bool only_packs_weights(std::string_view code);

}  // namespace tenon::torchscript
