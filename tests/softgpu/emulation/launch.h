// A launch with arguments as values or as an array of pointers.
#pragma once
#include <utility>

#include "interface.h"

namespace gpusim {
inline namespace GPU_WAVE {

/// kernel<<<grid, size, dynamic_bytes>>>(arguments...), done when it returns.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 size, size_t dynamic_bytes,
            Arguments... arguments) {
  auto body = [=] { kernel(Parameters(arguments)...); };
  run(
      grid, size, dynamic_bytes, [](void* p) { (*static_cast<decltype(body)*>(p))(); }, &body);
}

template <class... Parameters, size_t... I>
void launch_indexed(void (*kernel)(Parameters...), dim3 grid, dim3 size, size_t dynamic_bytes,
                    [[maybe_unused]] void** arguments, std::index_sequence<I...>) {
  auto body = [=] { kernel(*static_cast<Parameters*>(arguments[I])...); };
  run(
      grid, size, dynamic_bytes, [](void* p) { (*static_cast<decltype(body)*>(p))(); }, &body);
}

/// The same with pointers to the arguments, as cuLaunchKernel has them.
template <class... Parameters>
void launch_ptr(void (*kernel)(Parameters...), dim3 grid, dim3 size, size_t dynamic_bytes, void** arguments) {
  launch_indexed(kernel, grid, size, dynamic_bytes, arguments, std::index_sequence_for<Parameters...>{});
}

}  // namespace GPU_WAVE
}  // namespace gpusim
