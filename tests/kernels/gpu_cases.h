// Launches of GPU kernels of every family and form, each with its buffers and what they hold afterwards.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernels/gpu/loop_form.h"
#include "kernels/gpu/tensor_map.h"
#include "tests/kernels/loop_cases.h"

namespace tenon::gpu {

struct GpuLaunch {
  struct Parameter {
    std::size_t buffer;       // of the case
    std::int64_t offset = 0;  // bytes
  };

  std::string source;  // a translation unit
  std::string kernel;  // its name there
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  int block = 0;
  std::int64_t shared_bytes = 0;
  bool block_grows = false;             // it is counted in waves: of 64 lanes it has twice as many threads
  std::vector<Parameter> buffers = {};  // none: all of the case, in order
  std::vector<std::vector<std::byte>> arguments = {};  // by value, after the buffers
  std::vector<TensorMap> maps = {};                    // after these
};

struct GpuCase {
  std::string name;                 // the family, then the form; of no other case
  std::vector<GpuLaunch> launches;  // one behind the other
  /// What is behind the end of an expected one may be anything.
  std::vector<std::vector<std::byte>> buffers, expected;
  std::vector<DType> dtypes;           // of the buffers
  double tolerance = 0;                // 0: the one of the dtype
  std::vector<std::string> operators;  // that it computes, where it is of a graph
  bool of_warpgroups = false;          // its kernels take the units of warpgroups: no waves of 64
};

/// A buffer of random numbers between -2 and 2.
inline std::vector<std::byte> random_buffer(DType dtype, std::int64_t elements, unsigned seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * size_of(dtype));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-2, 2);
  for (std::int64_t i = 0; i < elements; ++i) write_number(bytes.data(), dtype, i, {.real = real(random)});
  return bytes;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

inline bool is_close(const GpuCase& c, std::size_t buffer, Number actual, Number expected) {
  if (actual.whole != expected.whole) return false;
  if (actual.real == expected.real || (std::isnan(actual.real) && std::isnan(expected.real))) return true;
  if (!std::isfinite(actual.real) || !std::isfinite(expected.real)) return false;
  const double allowed = std::max(c.tolerance, tolerance(c.dtypes[buffer]));
  return std::fabs(actual.real - expected.real) <= allowed * std::max(1.0, std::fabs(expected.real));
}

std::vector<GpuCase> loop_gpu_cases();
std::vector<GpuCase> product_gpu_cases();
std::vector<GpuCase> byte_product_gpu_cases();
std::vector<GpuCase> attention_gpu_cases();
std::vector<GpuCase> pool_gpu_cases();
std::vector<GpuCase> custom_gpu_cases();
/// What the planner makes of graphs, for a device with waves of this size.
std::vector<GpuCase> planned_gpu_cases(int wave);
std::vector<GpuCase> linear_algebra_gpu_cases();

inline std::vector<GpuCase> all_gpu_cases(int wave) {
  std::vector<GpuCase> cases = loop_gpu_cases();
  for (const auto& family : {product_gpu_cases, byte_product_gpu_cases, attention_gpu_cases, pool_gpu_cases,
                             custom_gpu_cases, linear_algebra_gpu_cases})
    for (GpuCase& c : family()) cases.push_back(std::move(c));
  for (GpuCase& c : planned_gpu_cases(wave)) cases.push_back(std::move(c));
  return cases;
}

}  // namespace tenon::gpu
