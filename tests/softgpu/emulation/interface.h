// What a compiled kernel needs of the emulator. The emulator itself is inline code (runtime.h), or, with
// GPU_RUNTIME_ELSEWHERE, in the program that loads the kernel, for each wave size: a kernel then compiles in
// a third of the time.
#pragma once
#include <cstddef>
#include <cstdint>

#ifndef GPU_CPU_WARP
#define GPU_CPU_WARP 32  // lanes of a warp: 32 or 64
#endif
#ifndef GPU_CPU_SHMEM
#define GPU_CPU_SHMEM (64 << 10)  // bytes of shared memory that a block may have
#endif
#if defined(__SANITIZE_ADDRESS__)
#define GPU_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define GPU_TSAN 1
#define GPU_NOSAN \
  __attribute__((no_sanitize("thread"), noinline))  // the emulator's own state is no user data
#else
#define GPU_NOSAN
#endif
#if defined(GPU_ASAN) || defined(GPU_TSAN)
#define GPU_SERIAL 1  // blocks run one after the other on one system thread
#undef GPU_RUNTIME_ELSEWHERE
#else
#define GPU_SERIAL 0
#endif
#if defined(GPU_RUNTIME_ELSEWHERE) || defined(GPU_RUNTIME_HERE)
#define GPU_RUNTIME
#elif defined(GPU_TSAN)
#define GPU_RUNTIME __attribute__((no_sanitize("thread"))) inline
#else
#define GPU_RUNTIME inline
#endif

// The namespace names the emulator: one inside a library must not be taken for that of the program that loads
// it.
#if !defined(GPU_RUNTIME_ELSEWHERE) && !defined(GPU_RUNTIME_HERE)
#define GPU_WAVE inlined
#elif GPU_CPU_WARP == 64
#define GPU_WAVE wave64
#else
#define GPU_WAVE wave32
#endif

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

namespace gpusim {
inline namespace GPU_WAVE {

constexpr int kWarp = GPU_CPU_WARP;

/// Runs once for a warp's operation, over the operands of all its lanes.
using CollFn = void (*)(void** operands, uint64_t lanes);

struct Site {
  const char* file;
  int line;
};

/// Runs `body(argument)` in every thread of a launch; done when it returns.
GPU_RUNTIME void run(dim3 grid, dim3 size, size_t dynamic_bytes, void (*body)(void*), void* argument,
                     size_t shared_limit = GPU_CPU_SHMEM);

/// All lanes of `mask` meet here, each with its operand; the last one runs `function` over all operands.
/// `ordered`: it orders memory too. Lanes in different operations, or a lane outside its own mask, end the
/// process with a message.
GPU_RUNTIME void collective(uint64_t mask, void* operand, CollFn function, const char* name, Site site,
                            bool ordered = false);
GPU_RUNTIME void barrier(Site site);

// The same in every call of one thread, so that the compiler may call them once.
[[gnu::const]] GPU_RUNTIME int lane();
[[gnu::const]] GPU_RUNTIME uint3 thread_index();
[[gnu::const]] GPU_RUNTIME uint3 block_index();
[[gnu::const]] GPU_RUNTIME uint3 block_size();
[[gnu::const]] GPU_RUNTIME uint3 grid_size();

/// The lanes of the calling thread's warp that have not ended.
GPU_RUNTIME uint64_t alive();
GPU_RUNTIME void* dyn_shared();
/// The block's variable `id`; NaN at first.
GPU_RUNTIME void* shared_variable(int id, size_t bytes);

/// Begins to copy `bytes` bytes to shared memory; those up to `total` become zero.
GPU_RUNTIME void copy_async(void* to, const void* from, unsigned bytes, unsigned total);
GPU_RUNTIME void copy_async_commit();
/// Copies what was committed before the last `pending` groups.
GPU_RUNTIME void copy_async_wait(unsigned pending);

/// What arrived in shared memory by the calling thread's copies, or was written there for the units of
/// warpgroups, is seen by these.
GPU_RUNTIME void fence_proxy_async();
/// The calling thread writes 16 bytes there for them.
GPU_RUNTIME void note_write_for_units(const void* to);

/// Of an address in the block's shared memory: where it lies there.
GPU_RUNTIME unsigned shared_address(const void* p);

/// wgmma.mma_async of a lane (warpgroup.h): m64nNk16 of 16 bits, m64nNk8 of 32.
struct WarpgroupProduct {
  float* sum;  // columns / 2 numbers
  int columns, depth;
  const unsigned* left_words;      // the lane's registers of the left side; null: that lies in shared memory
  uint64_t left, right;            // descriptors
  bool left_across, right_across;  // lines lie side by side
  bool adds;                       // to the sums, which else begin anew
  float (*number)(unsigned);
  bool lies;
};
GPU_RUNTIME void wgmma(WarpgroupProduct& mine, Site site);
GPU_RUNTIME void wgmma_fence(Site site);
GPU_RUNTIME void wgmma_commit(Site site);
/// Delivers the sums of what was committed before the last `pending` groups.
GPU_RUNTIME void wgmma_wait(unsigned pending, Site site);

/// mbarrier.init, .inval, .arrive (with .expect_tx) and .try_wait.parity until it is done.
GPU_RUNTIME void mbarrier_init(uint64_t* barrier, unsigned arrivals);
GPU_RUNTIME void mbarrier_inval(uint64_t* barrier);
GPU_RUNTIME void mbarrier_arrive(uint64_t* barrier, unsigned expected_bytes);
GPU_RUNTIME void mbarrier_wait(uint64_t* barrier, unsigned parity, Site site);
/// cp.async.bulk.tensor.2d of a map that our driver encoded.
GPU_RUNTIME void bulk_copy_2d(void* to, const void* map, int along, int down, uint64_t* barrier);

/// SOFTGPU_FAULT names the matrix instruction, among others perhaps: it gives wrong numbers, or, as
/// crash:NAME, ends the device.
GPU_RUNTIME bool lies(const char* instruction);

#ifdef GPU_TSAN
/// What a kernel's fence of the device and its atomic operations order.
GPU_RUNTIME void device_fence();
GPU_RUNTIME void note_atomic();
#endif

}  // namespace GPU_WAVE
}  // namespace gpusim
