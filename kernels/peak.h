// What a device can do at most.
#pragma once

namespace tenon {

/// Rates of a whole device, or of the threads that a session has of it.
struct Peak {
  double gflops = 0;  // f32 multiply-adds, two operations each
  double gbs = 0;     // memory: the faster of reading and of a = b + s * c (all three streams counted)
  double l2_gbs = 0;  // reading what fits each core's L2
  double l3_gbs = 0;  // reading what fits the L3 but no L2
};

}  // namespace tenon
