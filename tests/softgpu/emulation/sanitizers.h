// What AddressSanitizer and ThreadSanitizer must be told of fibers and of shared memory; nothing in a plain
// build. Under ThreadSanitizer each GPU thread is a fiber of its own, and only barriers order memory: it
// finds races.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define GPU_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#define GPU_TSAN 1
#include <sanitizer/tsan_interface.h>
#define GPU_NOSAN \
  __attribute__((no_sanitize("thread"), noinline))  // the emulator's own state is no user data
#else
#define GPU_NOSAN
#endif
#if defined(GPU_ASAN) || defined(GPU_TSAN)
#define GPU_SERIAL 1  // blocks run one after the other on one system thread
#else
#define GPU_SERIAL 0
#endif

namespace gpusim {

/// What a sanitizer keeps of one stack.
struct StackNote {
  const void* bottom = nullptr;
  size_t size = 0;
  void* fake = nullptr;
  void* fiber = nullptr;
};

GPU_NOSAN inline void note_leaving([[maybe_unused]] StackNote& from, [[maybe_unused]] StackNote& to,
                                   [[maybe_unused]] bool for_ever) {
#ifdef GPU_TSAN
  __tsan_switch_to_fiber(to.fiber, 1 /* orders no memory */);
#endif
#ifdef GPU_ASAN
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &from.fake, to.bottom, to.size);
#endif
}

GPU_NOSAN inline void note_returned([[maybe_unused]] StackNote& note) {
#ifdef GPU_ASAN
  __sanitizer_finish_switch_fiber(note.fake, nullptr, nullptr);
#endif
}

/// A fiber has just begun; the stack that it came from is `scheduler`.
GPU_NOSAN inline void note_begun([[maybe_unused]] StackNote& scheduler) {
#ifdef GPU_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &scheduler.bottom, &scheduler.size);
#endif
}

GPU_NOSAN inline void note_new_fiber([[maybe_unused]] StackNote& note) {
#ifdef GPU_TSAN
  if (!note.fiber) note.fiber = __tsan_create_fiber(0);
#endif
}

GPU_NOSAN inline void note_this_thread([[maybe_unused]] StackNote& note) {
#ifdef GPU_TSAN
  note.fiber = __tsan_get_current_fiber();
#endif
}

/// Everything before release(p) happens before what follows acquire(p).
inline void acquire([[maybe_unused]] void* p) {
#ifdef GPU_TSAN
  __tsan_acquire(p);
#endif
}
inline void release([[maybe_unused]] void* p) {
#ifdef GPU_TSAN
  __tsan_release(p);
#endif
}

inline void poison([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#ifdef GPU_ASAN
  ASAN_POISON_MEMORY_REGION(p, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#ifdef GPU_ASAN
  ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#endif
}

}  // namespace gpusim
