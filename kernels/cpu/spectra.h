// Spectra of dense row-major matrices: eigenvalues of symmetric ones, singular values. All numbers are to be
// finite.
#pragma once
#include <cstddef>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Bytes that a matrix's spectrum needs as room, 64-byte aligned.
std::size_t spectrum_room(long rows, long columns, bool complete);

/// Eigenvalues, ascending, and eigenvectors, the columns of `vectors`, of the symmetric x[n, n], whose lower
/// triangle is read. Where `vectors` is null, they are not computed.
template <class T>
void find_eigh(const T* x, long n, T* values, T* vectors, std::byte* room);

/// The singular values of x[rows, columns], descending.
template <class T>
void find_singular_values(const T* x, long rows, long columns, T* s, std::byte* room);

/// x = U diag(s) V^T: u[rows, k] and v[k, columns] for k = min(rows, columns), or with `complete` both
/// square.
template <class T>
void find_svd(const T* x, long rows, long columns, bool complete, T* u, T* s, T* v, std::byte* room);

/// Rows of vectors are so far apart: whole lines of the cache, and not a power of two of them.
constexpr long row_stride(long columns) {
  constexpr long line = 16;
  const long lines = (columns + line - 1) / line;
  return (lines + (lines % 2 == 0 ? 1 : 0)) * line;
}

/// Hands out parts of memory, each as of a cache line.
struct Space {
  std::byte* next;
  template <class T>
  [[gnu::always_inline]] T* take(long count) {
    constexpr std::size_t line = 64;
    T* const taken = reinterpret_cast<T*>(next);
    next += (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line;
    return taken;
  }
  template <class T>
  [[gnu::always_inline]] T* take_zeros(long count) {
    T* const taken = take<T>(count);
    __builtin_memset(taken, 0, static_cast<std::size_t>(count) * sizeof(T));
    return taken;
  }
};

inline constexpr double unit_roundoff = 0x1p-53;  // of f64
inline constexpr int sweeps_at_once = 16;         // of rotations

/// What the kernels of one instruction set find, in no order, of numbers whose squares are finite. Vectors
/// are of T; everything else is computed in f64.
template <class T>
struct SpectrumTask {
  long rows = 0, columns = 0;
  const double* x = nullptr;
  double* values = nullptr;
  T *left = nullptr, *right = nullptr;  // rows of vectors on the longer and the shorter side, or null
  std::byte* room = nullptr;
};
template <class T>
using OnSpectrum = void(const SpectrumTask<T>&);
/// Of a symmetric matrix; the vectors are `right`.
TENON_PER_ISA(OnSpectrum<float>, find_eigen_f32, find_eigen_f32)
TENON_PER_ISA(OnSpectrum<double>, find_eigen_f64, find_eigen_f64)
/// A value may be negative.
TENON_PER_ISA(OnSpectrum<float>, find_singular_f32, find_singular_f32)
TENON_PER_ISA(OnSpectrum<double>, find_singular_f64, find_singular_f64)

}  // namespace tenon::cpu
