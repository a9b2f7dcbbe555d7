// Atomic operations on global and shared memory. Each gives the value before it and orders no other memory.
#pragma once
#include <cstring>

#include "interface.h"

namespace gpusim {

/// Replaces *p by change(*p), at once for all threads.
template <class T, class Change>
T atomic_change(T* p, Change change) {
#ifdef GPU_TSAN
  note_atomic();
#endif
  T old, changed;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do changed = change(old);
  while (!__atomic_compare_exchange(p, &old, &changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace gpusim

inline void __threadfence() {
#ifdef GPU_TSAN
  gpusim::device_fence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
template <class T>
T atomicAdd(T* p, T value) {
  return gpusim::atomic_change(p, [=](T old) { return T(old + value); });
}
template <class T>
T atomicSub(T* p, T value) {
  return gpusim::atomic_change(p, [=](T old) { return T(old - value); });
}
/// Counts from 0 to `last`, and begins again.
inline unsigned atomicInc(unsigned* p, unsigned last) {
  return gpusim::atomic_change(p, [=](unsigned old) { return old >= last ? 0 : old + 1; });
}
template <class T>
T atomicMax(T* p, T value) {
  return gpusim::atomic_change(p, [=](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* p, T value) {
  return gpusim::atomic_change(p, [=](T old) { return value < old ? value : old; });
}
template <class T>
T atomicAnd(T* p, T value) {
  return gpusim::atomic_change(p, [=](T old) { return T(old & value); });
}
template <class T>
T atomicOr(T* p, T value) {
  return gpusim::atomic_change(p, [=](T old) { return T(old | value); });
}
template <class T>
T atomicExch(T* p, T value) {
  return gpusim::atomic_change(p, [=](T) { return value; });
}
template <class T>
T atomicCAS(T* p, T expected, T value) {
  __atomic_compare_exchange(p, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
