// Stacks that a system thread switches between: saves the registers that a callee must keep, about 2 ns.
// x86-64 only.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sanitizers.h"

#ifndef __x86_64__
#error "the emulation of a GPU switches stacks on x86-64 only"
#endif

extern "C" void gpusim_switch(void** save, void* to);
asm(R"(
.pushsection .text.gpusim,"ax",@progbits
.weak gpusim_switch
.type gpusim_switch,@function
gpusim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gpusim_switch, .-gpusim_switch
.popsection
)");

namespace gpusim {
inline namespace GPU_WAVE {

constexpr size_t kStackBytes = GPU_SERIAL ? 256 << 10 : 64 << 10;
constexpr size_t kPage = 4096;

struct Context {
  void* stack_pointer = nullptr;
  StackNote note;
};

GPU_NOSAN inline void switch_context(Context& from, Context& to, bool for_ever = false) {
  note_leaving(from.note, to.note, for_ever);
  gpusim_switch(&from.stack_pointer, to.stack_pointer);
  note_returned(from.note);
}

/// Fresh memory; with `guarded`, its first page is inaccessible.
GPU_NOSAN inline char* map_memory(size_t bytes, bool guarded) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "gpusim: out of memory\n");
    abort();
  }
  if (guarded) mprotect(memory, kPage, PROT_NONE);
  return static_cast<char*>(memory);
}

/// Makes `context` begin `main` on `stack`. The tops of stacks are spread over the sets of the cache.
GPU_NOSAN inline void prepare_context(Context& context, char* stack, void (*main)()) {
  context.note.bottom = stack;
  context.note.size = kStackBytes;
  context.note.fake = nullptr;
  note_new_fiber(context.note);
  unpoison(stack + kStackBytes - 2 * kPage, 2 * kPage);
  const size_t colour = reinterpret_cast<uintptr_t>(stack) / kStackBytes % 61 * 64;
  void** top = reinterpret_cast<void**>(stack + kStackBytes - colour) - 2;
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(main);
  top -= 6;  // the six registers
  memset(top, 0, 6 * sizeof *top);
  context.stack_pointer = top;
}

}  // namespace GPU_WAVE
}  // namespace gpusim
