// What AddressSanitizer and ThreadSanitizer must be told of fibers and of shared memory; nothing in a plain
// build. Under ThreadSanitizer each GPU thread is a fiber of its own, and only barriers order memory: it
// finds races.
#pragma once
#include "interface.h"

#ifdef GPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef GPU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace gpusim {
inline namespace GPU_WAVE {

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

}  // namespace GPU_WAVE
}  // namespace gpusim
