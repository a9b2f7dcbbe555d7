// Launches of GPU kernels of every family and form, each with its buffers and what they hold afterwards.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "kernels/gpu/loop_form.h"
#include "tests/kernels/loop_cases.h"

namespace tenon::gpu {

struct GpuCase {
  std::string name;    // the family, then the form; of no other case
  std::string source;  // a translation unit
  std::string kernel;  // its name there
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  int block = 0, shared_bytes = 0;
  bool block_grows = false;  // it is counted in waves: of 64 lanes it has twice as many threads
  /// In the order of the parameters. What is behind the end of an expected one may be anything.
  std::vector<std::vector<std::byte>> buffers, expected;
  std::vector<DType> dtypes;                      // of the buffers
  std::vector<std::vector<std::byte>> arguments;  // by value, after the buffers
  double tolerance = 0;                           // 0: the one of the dtype
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
  const double allowed = std::max(c.tolerance, tolerance(c.dtypes[buffer]));
  return std::fabs(actual.real - expected.real) <= allowed * std::max(1.0, std::fabs(expected.real));
}

std::vector<GpuCase> loop_gpu_cases();
std::vector<GpuCase> product_gpu_cases();
std::vector<GpuCase> attention_gpu_cases();
std::vector<GpuCase> pool_gpu_cases();

inline std::vector<GpuCase> all_gpu_cases() {
  std::vector<GpuCase> cases = loop_gpu_cases();
  for (const auto& family : {product_gpu_cases, attention_gpu_cases, pool_gpu_cases})
    for (GpuCase& c : family()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace tenon::gpu
