// The instructions of a warpgroup's unit, each a meeting of a warp.
#pragma once
#include "meetings.h"
#include "warpgroup_products.h"

namespace gpusim {
inline namespace GPU_WAVE {

GPU_RUNTIME void wgmma(WarpgroupProduct& mine, Site site) {
  collective(~0ull, &mine, begin_product, "wgmma.mma_async", site);
}

GPU_RUNTIME void wgmma_fence(Site site) {
  collective(
      ~0ull, nullptr, [](void**, uint64_t) GPU_NOSAN { work_of(block->warps[current->warp]).fenced = true; },
      "wgmma.fence", site);
}

GPU_RUNTIME void wgmma_commit(Site site) {
  collective(
      ~0ull, nullptr, [](void**, uint64_t) GPU_NOSAN { work_of(block->warps[current->warp]).groups++; },
      "wgmma.commit_group", site);
}

GPU_RUNTIME void wgmma_wait(unsigned pending, Site site) {
  collective(
      ~0ull, &pending,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        wait_for_products(work_of(block->warps[current->warp]),
                          int(*static_cast<unsigned*>(operands[lowest(lanes)])));
      },
      "wgmma.wait_group", site);
}

/// Is `word` one of those that commas divide?
GPU_NOSAN inline bool is_listed(const char* list, const char* word) {
  for (const char* at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strcspn(at, ",") == strlen(word) && strncmp(at, word, strlen(word)) == 0) return true;
  }
  return false;
}

GPU_RUNTIME bool lies(const char* instruction) {
  static const char* const faults = getenv("SOFTGPU_FAULT");
  if (!faults) return false;
  char crash[64];
  snprintf(crash, sizeof crash, "crash:%s", instruction);
  if (is_listed(faults, crash)) die("SOFTGPU_FAULT");
  return is_listed(faults, instruction);
}

}  // namespace GPU_WAVE
}  // namespace gpusim
