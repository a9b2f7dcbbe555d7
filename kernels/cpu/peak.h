// What this machine's processor can do at most: multiply-adds in registers, and bytes streamed from each
// level of memory.
#pragma once
#include "kernels/peak.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// All threads of a pool together, for the ISA in force (kernels/cpu/isa.h). Takes less than a second. The
/// best of many short runs, so that a busy machine is not measured as a slow one. Other arithmetic than
/// float32's is that of the instructions that products use: no rate but float64's is below the lanes'.
Peak measure_peak(ThreadPool& pool);
/// The multiply-adds of float32 on the lanes alone.
double measure_gflops(ThreadPool& pool);

}  // namespace tenon::cpu
