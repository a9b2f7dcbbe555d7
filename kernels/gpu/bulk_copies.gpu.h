// Copies of boxes of a matrix to shared memory that a thread only starts (the Tensor Memory Accelerator of
// NVIDIA GPUs of compute capability 9.0), and the barriers in shared memory that say when they are done, each
// with its emulation beside it. Source: PTX ISA 9.0, sections 9.7.9.27 and 9.7.13.15.
#pragma once
#include "kernels/gpu/wgmma_instructions.gpu.h"

namespace tenon::gpu {

#if GPU_WGMMA

/// A matrix as the driver encodes it (CUtensorMap).
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

/// An mbarrier. Its phases are numbered from 0; one ends when as many threads have arrived as it was made
/// for, and all bytes that were announced.
using CopyBarrier = unsigned long long;

#if !GPU_SOFT
GPU_INLINE unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
#endif

/// Copies use it behind a fence_for_units() of this thread, other threads behind a barrier.
GPU_INLINE void make_barrier(CopyBarrier* barrier, int arrivals) {
#if GPU_SOFT
  gpu_mbarrier_init(barrier, arrivals);
#else
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
#endif
}
/// Its memory may be used otherwise.
GPU_INLINE void end_barrier(CopyBarrier* barrier) {
#if GPU_SOFT
  gpu_mbarrier_inval(barrier);
#else
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}
GPU_INLINE void arrive(CopyBarrier* barrier) {
#if GPU_SOFT
  gpu_mbarrier_arrive(barrier);
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}
/// The same, and announces bytes of the copies that follow.
GPU_INLINE void arrive_and_expect(CopyBarrier* barrier, int bytes) {
#if GPU_SOFT
  gpu_mbarrier_arrive_expect_tx(barrier, bytes);
#else
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
#endif
}
/// Until the phase is over, whose number's last bit is given: the one under way, or the one before.
GPU_INLINE void wait_for_phase(CopyBarrier* barrier, unsigned parity) {
#if GPU_SOFT
  gpu_mbarrier_wait(barrier, parity);
#else
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
#endif
}
/// Begins to copy the box whose first element is `along` in a row, and the row `down`. All of its bytes
/// count.
GPU_INLINE void bulk_copy(void* shared, const TensorMap* map, int along, int down, CopyBarrier* barrier) {
#if GPU_SOFT
  gpu_bulk_copy_2d(shared, map, along, down, barrier);
#else
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(shared_address(shared)),
      "l"(map), "r"(along), "r"(down), "r"(shared_address(barrier))
      : "memory");
#endif
}

#endif

}  // namespace tenon::gpu
