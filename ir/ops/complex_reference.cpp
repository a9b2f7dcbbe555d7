// References of complex numbers; the Fourier transform of any length by Bluestein's convolution.
#include <algorithm>
#include <bit>
#include <complex>
#include <numbers>
#include <vector>

#include "ir/ops/complex.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

/// exp(i pi turns)
Number unit(double turns) { return std::polar(1.0, std::numbers::pi * turns); }

/// Of a power of two of numbers, in place.
void transform_power_of_two(Numbers& z, double sign) {
  const std::size_t n = z.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(z[i], z[j]);
  }
  for (std::size_t length = 2; length <= n; length *= 2) {
    Numbers factors(length / 2);
    for (std::size_t k = 0; k < factors.size(); ++k)
      factors[k] = unit(sign * 2 * static_cast<double>(k) / static_cast<double>(length));
    for (std::size_t start = 0; start < n; start += length)
      for (std::size_t k = 0; k < factors.size(); ++k) {
        Number& a = z[start + k];
        Number& b = z[start + k + factors.size()];
        const Number turned = b * factors[k];
        b = a - turned;
        a += turned;
      }
  }
}

/// jk = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp.
void transform(Numbers& z, double sign) {
  const std::size_t n = z.size();
  if (n == 0) return;
  if (std::has_single_bit(n)) return transform_power_of_two(z, sign);
  const std::size_t padded = std::bit_ceil(2 * n - 1);
  Numbers chirp(n), a(padded), b(padded);
  for (std::size_t k = 0; k < n; ++k)
    chirp[k] = unit(sign * static_cast<double>(k * k % (2 * n)) / static_cast<double>(n));
  for (std::size_t k = 0; k < n; ++k) {
    a[k] = z[k] * chirp[k];
    b[k] = b[(padded - k) % padded] = std::conj(chirp[k]);
  }
  transform_power_of_two(a, -1);
  transform_power_of_two(b, -1);
  for (std::size_t k = 0; k < padded; ++k) a[k] *= b[k];
  transform_power_of_two(a, 1);
  for (std::size_t k = 0; k < n; ++k) z[k] = a[k] * chirp[k] / static_cast<double>(padded);
}

/// Of real numbers, the first and (of an even number) the middle result are real: exactly, as their angle
/// shows.
void transform_line(Numbers& z, double sign) {
  const bool real = std::all_of(z.begin(), z.end(), [](const Number& x) { return x.imag() == 0; });
  transform(z, sign);
  if (!real || z.empty()) return;
  z[0].imag(-sign * 0.0);
  if (z.size() % 2 == 0) z[z.size() / 2].imag(-sign * 0.0);
}

template <class F>
void for_each_part(const Tensor& z, Tensor& out, F part) {
  const Tensor wide = z.to(DType::c128).contiguous();
  Tensor result = Tensor::empty(DType::f64, out.shape());
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data<double>()[i] = part(wide.data<Number>()[i]);
  out.copy_from(result);
}

}  // namespace

void Complex::reference(InSpan in, OutSpan out) const {
  const Tensor real = widened(in[0]), imag = widened(in[1]);
  Tensor z = Tensor::empty(DType::c128, out[0].shape());
  for (std::int64_t i = 0; i < z.numel(); ++i)
    z.mutable_data<Number>()[i] = {real.data<double>()[i], imag.data<double>()[i]};
  out[0].copy_from(z);
}

void Real::reference(InSpan in, OutSpan out) const {
  for_each_part(in[0], out[0], [](const Number& z) { return z.real(); });
}

void Imag::reference(InSpan in, OutSpan out) const {
  for_each_part(in[0], out[0], [](const Number& z) { return z.imag(); });
}

void Fft::reference(InSpan in, OutSpan out) const {
  Tensor z = in[0].to(DType::c128).clone();
  const std::int64_t n = z.shape().back();
  for (std::int64_t at = 0; at < z.numel(); at += n) {
    Number* line = z.mutable_data<Number>() + at;
    Numbers numbers(line, line + n);
    transform_line(numbers, inverse ? 1 : -1);
    std::copy(numbers.begin(), numbers.end(), line);
  }
  out[0].copy_from(z);
}

}  // namespace tenon
