// Times the chains; the fastest of many runs is the one nobody disturbed.
#include "kernels/bench/fma_peak.h"

#include <algorithm>
#include <chrono>

namespace tenon::cpu {
namespace {

double measure() {
  double best = 0;
  for (int i = 0; i < 300; i++) {
    const auto start = std::chrono::steady_clock::now();
    const double operations = fma_chains();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, operations / seconds * 1e-9);
  }
  return best;
}

}  // namespace

double fma_peak_gflops() {
  static const double peak = measure();
  return peak;
}

}  // namespace tenon::cpu
