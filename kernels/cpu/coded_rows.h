// What quantised models do with rows of sums that are still in the L1 cache, in one pass: codes of 8 bits,
// what these stand for, a residual, an activation.
#pragma once
#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "kernels/cpu/byte_function.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// The code of x is clamp(round(x / scale) + zero, low, high), a whole number of 8 bits; that of NaN is 0.
/// Ties go to even numbers.
struct Quantise {
  float scale = 1;          // from 2^-60 to 2^60
  bool multiplies = false;  // x * scale in place of x / scale
  float zero = 0;           // a whole number from -255 to 255
  float low = 0, high = 255;

  /// Of which a code is made.
  float number_of(float code) const { return multiplies ? (code - zero) / scale : (code - zero) * scale; }
  bool operator==(const Quantise&) const = default;
};
/// A code stands for (code - zero) * scale.
struct Dequantise {
  float scale = 1;
  float zero = 0;  // a whole number from -255 to 255

  bool operator==(const Dequantise&) const = default;
};

/// By table, the code that a table gives for that of x, or what it stands for. Else:
/// x = what its code stands for; x = x + residual; x = activation(x); then x, what its code stands for, or
/// its code. Each step may be absent. Every step rounds to float32 by itself.
struct CodedRows {
  enum class Result { floats, rounded, codes };
  bool rounds = false;
  Quantise first;
  Dequantise of_first;
  bool adds = false;
  DType residual_type = DType::f32;  // or u8, i8, of which it is what the codes stand for
  Dequantise of_residual;
  Activation activation = Activation::none;
  Result result = Result::floats;
  Quantise last;
  Dequantise of_last;
  bool by_table = false;
  ByteValues table = {};   // in place of all between `first` and `of_last`
  bool of_signed = false;  // its codes are signed

  /// Is it made of few operators, each of which rounds once?
  static bool takes(Activation::Kind kind) { return kind <= Activation::Kind::leaky_relu; }
};

/// x / scale by the reciprocal, several times as fast as a division: with y = x * factor it is
/// y + (x - y * divisor) * correction, each of which rounds once (Markstein's theorem). x * scale has nothing
/// to correct.
struct Reciprocal {
  float factor = 1, divisor = 1, correction = 1;

  explicit Reciprocal(const Quantise& q)
      : factor(q.multiplies ? q.scale : 1 / q.scale),
        divisor(q.multiplies ? 0 : q.scale),
        correction(q.multiplies ? 0 : factor) {}
};

/// What a code of a sum stands for, and what is added to that before codes are made of it.
struct ResidualOfSums {
  Reciprocal by_scale;  // of the sum's code
  float low, high;      // bounds of the sum
  float zero, scale;    // n scales stand for (n - zero) * scale
  bool is_signed;       // codes of the residual
  Dequantise of_residual;
  const std::uint8_t* from = nullptr;  // laid out like CodesOfSums::to
};

/// Codes that kernels make of their sums while these are in registers, where there is no NaN.
struct CodesOfSums {
  Reciprocal by_scale;
  float low, high;  // bounds of x; what is at a bound of the codes rounds to it
  int zero;
  bool is_signed;
  bool by_table = false;
  ByteValues table = {};                        // of these codes, where by_table
  std::optional<ResidualOfSums> residual = {};  // products alone take it
  std::uint8_t* to = nullptr;                   // of row 0 and column 0, as a hook counts them
  long stride = 0;

  /// Is this all that these rows are, their result but for its place?
  static std::optional<CodesOfSums> of(const CodedRows& rows);
};

/// Consecutive rows; strides count elements.
struct CodedTile {
  float* sums = nullptr;
  long sums_stride = 0;
  const void* residual = nullptr;  // of CodedRows::adds
  long residual_stride = 0;
  std::uint8_t* codes = nullptr;  // of Result::codes; the others lie in place of the sums
  long codes_stride = 0;
  long rows = 0;
  long cols = 0;
};
using FinishCoded = void(const CodedRows& how, const CodedTile& tile);
TENON_PER_ISA(FinishCoded, finish_coded, finish_coded)

}  // namespace tenon::cpu
