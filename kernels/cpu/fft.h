// Discrete Fourier transforms of lines: of complex numbers, and between real numbers and half their spectrum.
#pragma once
#include <cstddef>
#include <vector>

#include "base/dtype.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// What lines are and become. The spectrum of n real numbers is its first n / 2 + 1 numbers.
enum class FftKind { complex, real_to_half, half_to_real };

/// Factors and order of the passes of one length. T: float or double. Made when a plan is made.
template <class T>
struct FftTables {
  FftTables(FftKind kind, bool inverse, long n);

  FftKind kind;
  bool inverse;    // conjugate factors; nothing is scaled
  long n;          // numbers of a line, real or complex
  bool is_folded;  // n real numbers are transformed as n / 2 complex ones
  long length;     // of the complex transform
  std::vector<int> radices;
  std::vector<T> factors;  // of the passes: for each p the factors k = 1 ... radix - 1, (re, im)
  std::vector<T> folding;  // exp(-2 pi i k / n), k = 0 ... n / 2
  /// Lengths with a large prime are a convolution of this length with a chirp; 0: none.
  long padded = 0;
  std::vector<T> chirp;   // exp(-pi i k^2 / length)
  std::vector<T> filter;  // the transform of the conjugate chirp, over `padded`

  long floats_in, floats_out;  // of a line
};

/// Transforms `lines` dense lines from x to y, of complex numbers as pairs. A number that is not finite
/// reaches its own line only. x and y must not overlap. With `columns`, both hold matrices [n, columns] of
/// complex numbers, one behind the other, whose columns are the lines.
template <class T>
struct FftLines {
  const FftTables<T>* tables;
  long lines;
  const T* x;
  T* y;
  long columns = 0;
};

template <class T>
std::size_t fft_scratch_size(const FftTables<T>& tables, int threads);  // bytes
template <class T>
void fft(const FftLines<T>& call, std::byte* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
