// The files that kernels' sources are put together from, embedded in the library.
#pragma once
#include <span>
#include <string_view>

namespace tenon::gpu::texts {

struct File {
  std::string_view path;  // "kernels/gpu/prelude.gpu.h"
  std::string_view text;
};
std::span<const File> files();

}  // namespace tenon::gpu::texts
