// Special functions of floats (base/specials.def) and greatest common divisors, element by element.
#pragma once
#include <optional>

#include "base/dtype.h"
#include "base/special_meaning.h"
#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// out[i] = function(a[i], b[i]), of doubles; one of a single operand does not look at b. False where there
/// is no vector code for the function, or not for all of these numbers: nothing is written then.
struct SpecialPiece {
  SpecialFunction function = SpecialFunction::i0;
  const double* a = nullptr;
  double* out = nullptr;
  long count = 0;
};
using RunSpecialPiece = bool(const SpecialPiece&);
TENON_PER_ISA(RunSpecialPiece, special_piece, special_piece)

/// The same of f32 or f64, computed in double; without a function, the greatest common divisors of integers.
struct SpecialRun {
  std::optional<SpecialFunction> function;
  DType dtype = DType::f32;
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  long count = 0;
};
void run_special(const SpecialRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
