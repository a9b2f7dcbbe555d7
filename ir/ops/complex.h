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

using ComplexNumbers = OpList<Complex, Real, Imag, Fft>;

}  // namespace tenon
