// What this machine's processor can do at most: multiply-adds in registers, and bytes streamed from each
// level of memory.
#pragma once
#include "kernels/peak.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// All threads of a pool together, for the ISA in force (kernels/cpu/isa.h). Takes about half a second. The
/// best of many short runs, so that a busy machine is not measured as a slow one.
Peak measure_peak(ThreadPool& pool);
/// The multiply-adds alone.
double measure_gflops(ThreadPool& pool);

}  // namespace tenon::cpu
