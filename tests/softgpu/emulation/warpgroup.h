// The unit of a warpgroup (wgmma), whose operands lie in shared memory, the left one perhaps in registers,
// and whose sums are NaN until they were waited for.
#pragma once
#include "matrix_descriptor.h"

namespace gpusim {
inline namespace GPU_WAVE {

inline void multiply_in_shared_memory(WarpgroupProduct mine, Site site) {
#ifdef GPU_TSAN  // it sees what the warp reads
  const char* const arena = static_cast<const char*>(dyn_shared()) - shared_address(dyn_shared());
  const int bytes = 32 / mine.depth;
  const MatrixDescriptor left(mine.left, mine.left_across, bytes),
      right(mine.right, mine.right_across, bytes);
  const auto look = [&](unsigned address) { (void)*reinterpret_cast<const volatile char*>(arena + address); };
  for (int k = 0; k < mine.depth; k++) {
    if (lane() < 16 && !mine.left_words) look(left.address(int(thread_index().x) / 32 % 4 * 16 + lane(), k));
    for (int j = lane(); j < mine.columns; j += kWarp) look(right.address(j, k));
  }
#endif
  wgmma(mine, site);
}

}  // namespace GPU_WAVE
}  // namespace gpusim

#define GPU_WARPGROUP_SITE const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE()
#define GPU_WARPGROUP_PRODUCT(name, convert)                                                              \
  template <int Columns>                                                                                  \
  void gpu_##name(float* sum, uint64_t left, uint64_t right, bool left_across, bool right_across,         \
                  GPU_WARPGROUP_SITE) {                                                                   \
    const auto number = [](unsigned bits) { return gpusim::convert(static_cast<unsigned short>(bits)); }; \
    gpusim::multiply_in_shared_memory({sum, Columns, 16, nullptr, left, right, left_across, right_across, \
                                       true, number, gpusim::lies(#name)},                                \
                                      {file_, line_});                                                    \
  }                                                                                                       \
  template <int Columns>                                                                                  \
  void gpu_##name(float* sum, const unsigned(&left)[4], uint64_t right, bool right_across,                \
                  GPU_WARPGROUP_SITE) {                                                                   \
    const auto number = [](unsigned bits) { return gpusim::convert(static_cast<unsigned short>(bits)); }; \
    gpusim::multiply_in_shared_memory(                                                                    \
        {sum, Columns, 16, left, 0, right, false, right_across, true, number, gpusim::lies(#name)},       \
        {file_, line_});                                                                                  \
  }
GPU_WARPGROUP_PRODUCT(wgmma_f16, of_half)
GPU_WARPGROUP_PRODUCT(wgmma_bf16, of_bfloat16)
#undef GPU_WARPGROUP_PRODUCT
template <int Columns>
void gpu_wgmma_tf32(float* sum, const unsigned* left, uint64_t right, bool adds, GPU_WARPGROUP_SITE) {
  gpusim::multiply_in_shared_memory(
      {sum, Columns, 8, left, 0, right, false, false, adds, gpusim::of_tf32, gpusim::lies("wgmma_tf32")},
      {file_, line_});
}

inline unsigned gpu_shared_address(const void* p) { return gpusim::shared_address(p); }
inline void gpu_fence_proxy_async() { gpusim::fence_proxy_async(); }
inline void gpu_write_for_units(void* to, const void* from) {
  __builtin_memcpy(to, from, 16);
  gpusim::note_write_for_units(to);
}
inline void gpu_wgmma_fence(GPU_WARPGROUP_SITE) { gpusim::wgmma_fence({file_, line_}); }
inline void gpu_wgmma_commit(GPU_WARPGROUP_SITE) { gpusim::wgmma_commit({file_, line_}); }
template <int Pending>
void gpu_wgmma_wait(GPU_WARPGROUP_SITE) {
  gpusim::wgmma_wait(Pending, {file_, line_});
}
#undef GPU_WARPGROUP_SITE
