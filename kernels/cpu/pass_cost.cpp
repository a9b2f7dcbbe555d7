#include "kernels/cpu/pass_cost.h"

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

double pass_cost() {
#if defined(__x86_64__)
  static const bool is_intel = __builtin_cpu_is("intel") != 0;
  if (is_intel && isa() == Isa::avx512) return 2.5;
#endif
  return 1;
}

}  // namespace tenon::cpu
