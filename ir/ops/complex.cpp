// Type rules of complex numbers.
#include "ir/ops/complex.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

void check_complex(const Type& z) {
  if (!is_complex(z.dtype)) throw error("the operand is {}, and not of complex numbers", z.str());
}

Type part(const Type& z) {
  check_complex(z);
  return {z.dtype == DType::c64 ? DType::f32 : DType::f64, z.shape};
}

}  // namespace

Type Complex::infer(const Type& real, const Type& imag) const {
  if (real.dtype != DType::f32 && real.dtype != DType::f64)
    throw error("the real part is {}, and not f32 or f64", real.str());
  check_same_dtype("the real part", real, "the imaginary part", imag);
  check_rank("the imaginary part", imag, real.rank());
  for (std::size_t i = 0; i < real.rank(); ++i)
    check_same_size("a size of the real part", real.shape[i], "that of the imaginary part", imag.shape[i]);
  return {real.dtype == DType::f32 ? DType::c64 : DType::c128, real.shape};
}

Type Real::infer(const Type& z) const { return part(z); }
Type Imag::infer(const Type& z) const { return part(z); }

Type Fft::infer(const Type& z) const {
  check_complex(z);
  if (z.rank() == 0) throw error("{} has no axis", z.str());
  return z;
}

Type RealFft::infer(const Type& x) const {
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    throw error("the operand is {}, and not f32 or f64", x.str());
  if (x.rank() == 0) throw error("{} has no axis", x.str());
  Type half{x.dtype == DType::f32 ? DType::c64 : DType::c128, x.shape};
  half.shape.back() = floor_div(x.shape.back(), Dim(2)) + 1;
  return half;
}

Ref RealFft::decompose(Ref x) const {
  const Ref zero = full(x.shape(), 0, x.dtype(), x.insertion_point());
  const Ref z = apply(Fft{}, {apply(Complex{}, {x, zero})});
  const Dim n = x.shape().back();
  return slice(z, static_cast<std::int64_t>(x.rank()) - 1, Dim(0), floor_div(n, Dim(2)) + 1);
}

Type RealOfFft::infer(const Type& z) const {
  Type real = part(z);
  if (z.rank() == 0) throw error("{} has no axis", z.str());
  check_same_size("the last size", z.shape.back(), "that of half the spectrum", floor_div(n, Dim(2)) + 1);
  real.shape.back() = n;
  return real;
}

Ref RealOfFft::decompose(Ref z) const {
  const auto axis = static_cast<std::int64_t>(z.rank()) - 1;
  const Ref real = apply(Real{}, {z}), imag = apply(Imag{}, {z});
  const auto whole = [&](const Ref& half, const Ref& mirrored) {
    const std::array parts = {half, flip(slice(mirrored, axis, Dim(1), n - floor_div(n, Dim(2))), {axis})};
    return concat(parts, axis);
  };
  return apply(Real{},
               {apply(Fft{.inverse = true}, {apply(Complex{}, {whole(real, real), whole(imag, -imag)})})});
}

std::vector<const OpInfo*> complex_ops() { return family(ComplexNumbers{}); }

}  // namespace tenon
