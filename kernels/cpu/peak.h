// What this machine can do at most: multiply-adds in registers, and bytes streamed from each level of memory.
#pragma once
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// All threads of a pool together, for the ISA in force (kernels/cpu/isa.h).
struct Peak {
  double gflops = 0;  // f32 multiply-adds, two operations each
  double gbs = 0;     // memory: the faster of reading and of a = b + s * c (all three streams counted)
  double l2_gbs = 0;  // reading what fits each core's L2
  double l3_gbs = 0;  // reading what fits the L3 but no L2
};

/// Takes about half a second. The best of many short runs, so that a busy machine is not measured as a slow
/// one.
Peak measure_peak(ThreadPool& pool);
/// The multiply-adds alone.
double measure_gflops(ThreadPool& pool);

}  // namespace tenon::cpu
