// Operators of a user's library as the text of GPU kernels (include/tenon/operator.h).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tenon::gpu {

inline constexpr int custom_threads = 256, custom_tensors = 16, custom_rank = 8, custom_arguments = 16;

/// The struct that the kernel takes (custom.gpu.h).
struct CustomCall {
  std::int64_t elements = 0;
  std::int64_t sizes[custom_tensors][custom_rank] = {};
  std::int64_t integers[custom_arguments] = {};
  double reals[custom_arguments] = {};
};

/// The kernel "custom" takes operands, results, and the struct. The user's text defines the function.
std::string custom_source(std::string_view text, std::string_view function, std::span<const DType> operands,
                          std::span<const DType> results);

}  // namespace tenon::gpu
