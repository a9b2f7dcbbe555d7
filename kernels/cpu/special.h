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
/// Vector code computes this many numbers at a time.
inline constexpr long special_padding = 16;

/// out[i] = function(a[i], b[i]), of doubles; one of a single operand does not look at b. Up to the next
/// multiple of special_padding there are more numbers in a and b, whose results do not count, and room for
/// these.
struct SpecialPiece {
  SpecialFunction function = SpecialFunction::i0;
  const double* a = nullptr;
  const double* b = nullptr;
  double* out = nullptr;
  long count = 0;
  double least = 0x1p-53;  // what a sum may leave out, as a share of it
  long* left = nullptr;    // room for `count` places
};
/// How many numbers vector code has no result for, whose places are in `left`: NaN, infinities, poles, huge
/// ones.
using RunSpecialPiece = long(const SpecialPiece&);
TENON_PER_ISA(RunSpecialPiece, special_piece, special_piece)

/// Greatest common divisors of integers; out may be a or b.
struct DivisorsPiece {
  DType dtype = DType::i64;
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  long count = 0;
};
using RunDivisorsPiece = void(const DivisorsPiece&);
TENON_PER_ISA(RunDivisorsPiece, divisors_piece, divisors_piece)

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
