// Special functions of floats (base/specials.def) and greatest common divisors, element by element.
#pragma once
#include <optional>

#include "base/dtype.h"
#include "base/special_meaning.h"
#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Numbers of a piece at most, which stay in L1.
inline constexpr long special_piece_size = 256;

/// out[i] = function(a[i], b[i]), of doubles; one of a single operand does not look at b. False where there
/// is no vector code for the function, or not for all of these numbers: nothing is written then. Where the
/// function takes pairs, each of them has_vector_code.
struct SpecialPiece {
  SpecialFunction function = SpecialFunction::i0;
  const double* a = nullptr;
  const double* b = nullptr;
  double* out = nullptr;
  long count = 0;
  double least = 0x1p-53;  // what a sum may leave out, as a share of it
};
/// Is it a function whose vector code is for pairs (a, b), chosen one by one?
constexpr bool takes_pairs(SpecialFunction f) {
  return f == SpecialFunction::gammainc || f == SpecialFunction::gammaincc;
}
/// Is there vector code for such a pair: are its sums of few terms?
constexpr bool has_vector_code(double a, double b) {
  return a > 0x1p-500 && a < 200 && b > 0x1p-500 && b < 1000;
}
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
