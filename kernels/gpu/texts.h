// The files that kernels' sources are put together from, embedded in the library.
#pragma once
#include <string_view>

namespace tenon::gpu::texts {

extern const std::string_view prelude_gpu_h;
extern const std::string_view pool_gpu_h;
extern const std::string_view product_gpu_h;
extern const std::string_view loop_values_gpu_h;
extern const std::string_view loop_walks_gpu_h;
extern const std::string_view order_gpu_h;
extern const std::string_view placed_fold_gpu_h;
extern const std::string_view places_gpu_h;
extern const std::string_view wave_gpu_h;
extern const std::string_view scan_gpu_h;
extern const std::string_view sort_gpu_h;
extern const std::string_view prim_meaning_h;
extern const std::string_view prims_def;

}  // namespace tenon::gpu::texts
