// Complex numbers: put together, taken apart, and the Fourier transform. Arithmetic is done on their parts.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// a + i b of two floats (f32 or f64) of one shape.
struct Complex : WithReference<2> {
  static constexpr std::string_view name = "complex";
  Type infer(const Type& real, const Type& imag) const;
  void reference(InSpan in, OutSpan out) const;
};

struct Real : WithReference<1> {
  static constexpr std::string_view name = "real";
  Type infer(const Type& z) const;
  void reference(InSpan in, OutSpan out) const;
};

struct Imag : WithReference<1> {
  static constexpr std::string_view name = "imag";
  Type infer(const Type& z) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The discrete Fourier transform of complex numbers along the last axis: the sums of z[j] exp(-2 pi i j k /
/// n), or with `inverse` of the conjugate factors; neither is scaled.
struct Fft : WithReference<1> {
  static constexpr std::string_view name = "fft";
  bool inverse = false;
  static constexpr auto fields = std::tuple{field("inverse", &Fft::inverse)};
  Type infer(const Type& z) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The first n / 2 + 1 numbers of the transform of n real ones along the last axis; the others are their
/// conjugates.
struct RealFft : Composite<1> {
  static constexpr std::string_view name = "real_fft";
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
};

/// The inverse transform (not scaled) of n numbers of which z[..., n / 2 + 1] are the first: n real numbers.
/// The first of z counts as real, and the middle one.
struct RealOfFft : Composite<1> {
  static constexpr std::string_view name = "real_of_fft";
  Dim n = 0;
  static constexpr auto fields = std::tuple{field("n", &RealOfFft::n)};
  Type infer(const Type& z) const;
  Ref decompose(Ref z) const;
};

using ComplexNumbers = OpList<Complex, Real, Imag, Fft, RealFft, RealOfFft>;

}  // namespace tenon
