// Picks the instruction set once, from cpuid.
#include "kernels/cpu/isa.h"

#include <atomic>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/cpu/finite.h"

namespace tenon::cpu {
namespace {

#if defined(__x86_64__)
constexpr Isa wide_is_built_for = Isa::avx2;
#else
constexpr Isa wide_is_built_for = Isa::baseline;
#endif

#if defined(__x86_64__)
bool has_f16c() {  // __builtin_cpu_supports of clang 14 does not know it
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

bool runs_here(Isa isa) {
  switch (isa) {
    case Isa::baseline: return true;
#if defined(__x86_64__)
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi2");
#endif
    case Isa::wide:
      return all_finite.build[static_cast<std::size_t>(Isa::wide)] && runs_here(wide_is_built_for);
    default: return false;
  }
}

Isa best() {
  if (runs_here(Isa::avx512)) return Isa::avx512;
  if (runs_here(Isa::avx2)) return Isa::avx2;
  return Isa::baseline;
}

constexpr int not_forced = -1;
std::atomic<int> forced{not_forced};

}  // namespace

std::string_view name(Isa isa) {
  constexpr std::string_view names[isa_count] = {"baseline", "avx2", "avx512", "wide"};
  return names[static_cast<std::size_t>(isa)];
}

Isa isa() {
  static const Isa detected = best();
  const int f = forced.load(std::memory_order_relaxed);
  return f == not_forced ? detected : static_cast<Isa>(f);
}

std::vector<Isa> runnable_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::wide}) {
    if (runs_here(isa)) found.push_back(isa);
  }
  return found;
}

ForceIsa::ForceIsa(Isa isa) : before_(forced.exchange(static_cast<int>(isa))) {}
ForceIsa::~ForceIsa() { forced.store(before_); }

}  // namespace tenon::cpu
