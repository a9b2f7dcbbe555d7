// Type rules of complex numbers.
#include "ir/ops/complex.h"

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

std::vector<const OpInfo*> complex_ops() { return family(ComplexNumbers{}); }

}  // namespace tenon
