// The table of kernels that the compiler appends to a source and that the device's process reads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace softgpu {

/// Names that the compiler gives to kernels of name expressions begin so.
constexpr char kExpressionPrefix[] = "softgpu_expression_";

/// One row; the table ends with a row without a name.
struct Kernel {
  const char* name;
  void (*launch)(const unsigned* grid, const unsigned* block, uint64_t dynamic_bytes, void** arguments);
  unsigned max_threads;  // __launch_bounds__, or 0
  unsigned parameter_count;
  const uint16_t* size;       // of each parameter, in bytes
  const uint8_t* is_pointer;  // of each parameter
};

template <class... Parameters>
struct Signature {
  static constexpr uint16_t size[] = {sizeof(Parameters)..., 0};
  static constexpr uint8_t is_pointer[] = {std::is_pointer_v<Parameters>..., 0};
};

template <class... Parameters>
constexpr Kernel table_row(const char* name, unsigned max_threads, void (*)(Parameters...),
                           decltype(Kernel::launch) launch) {
  using S = Signature<Parameters...>;
  return {name, launch, max_threads, sizeof...(Parameters), S::size, S::is_pointer};
}

}  // namespace softgpu

#define SOFTGPU_KERNEL(name, bound, kernel)                                                        \
  softgpu::table_row(                                                                              \
      name, bound, kernel, [](const unsigned* g, const unsigned* b, uint64_t bytes, void** args) { \
        gpusim::launch_ptr(kernel, dim3(g[0], g[1], g[2]), dim3(b[0], b[1], b[2]), bytes, args);   \
      }),
