// The first value that is wrong, in each of the three things that make it: conversion, fusion, kernels.
// Everything a search looks at is a parameter, so that a test can hand it something wrong.
#pragma once
#include "converter/torch_runner.h"
#include "runtime/device.h"
#include "verify/divergence.h"
#include "verify/imported_values.h"

namespace tenon {

/// Imported nodes against LibTorch's values of the same module. A node is wrong when LibTorch has no such
/// value, and nothing computed from it is a value that LibTorch has.
Search search_conversion(const Graph& imported, const ImportedValues&, TorchRunner&,
                         std::span<const Tensor> inputs, const std::string& method, const Tolerance&);

/// Values of the fused graph, evaluated in float64, against the imported values they are said to equal
/// (Value::origin).
Search search_fusion(const Graph& imported, const ImportedValues&, const Graph& fused,
                     std::span<const Tensor> inputs, const Tolerance&);

/// Each node of the plan as the device runs it, on inputs that the reference computed: an error that cancels
/// out or spreads later is found where it is made. `imported` (may be null) says what fused nodes replaced.
Search search_kernels(const Graph& graph, const Graph* imported, const Device&, int threads,
                      std::span<const Tensor> inputs, const Tolerance&);

}  // namespace tenon
