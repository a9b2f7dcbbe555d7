#include "runtime/complex_parts.h"

namespace tenon {

PlannedTensor in_parts(const PlannedTensor& t, DType part) {
  const auto parts = static_cast<std::int64_t>(size_of(t.dtype()) / size_of(part));
  Index sizes = t.shape(), strides = t.strides();
  for (std::int64_t& stride : strides) stride *= parts;
  sizes.push_back(parts);
  strides.push_back(1);
  return {t.buffer(), Strided(part, std::move(sizes), std::move(strides), parts * t.offset())};
}

PlannedTensor part_of(const PlannedTensor& z, std::int64_t which) {
  const DType part = z.dtype() == DType::c64 ? DType::f32 : DType::f64;
  const PlannedTensor parts = in_parts(z, part);
  Index sizes = z.shape(), strides = parts.strides();
  strides.pop_back();
  return {z.buffer(), Strided(part, std::move(sizes), std::move(strides), parts.offset() + which)};
}

std::optional<PlannedTensor> numbers_of(const PlannedTensor& pairs) {
  if (pairs.rank() == 0 || pairs.shape().back() != 2) return std::nullopt;
  const auto part = [&](std::int64_t which) {
    Index sizes = pairs.shape(), strides = pairs.strides();
    const std::int64_t offset = pairs.offset() + which * strides.back();
    sizes.pop_back();
    strides.pop_back();
    return PlannedTensor{pairs.buffer(),
                         Strided(pairs.dtype(), std::move(sizes), std::move(strides), offset)};
  };
  return whole_of(part(0), part(1));
}

std::optional<PlannedTensor> whole_of(const PlannedTensor& real, const PlannedTensor& imag) {
  const DType dtype = real.dtype() == DType::f32 ? DType::c64 : DType::c128;
  if ((real.dtype() != DType::f32 && real.dtype() != DType::f64) || imag.dtype() != real.dtype() ||
      real.buffer() != imag.buffer() || real.shape() != imag.shape() || imag.offset() != real.offset() + 1 ||
      real.offset() % 2 != 0)
    return std::nullopt;
  Index strides = real.strides();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const bool is_one = real.shape()[d] == 1;
    if (!is_one && (strides[d] != imag.strides()[d] || strides[d] % 2 != 0)) return std::nullopt;
    strides[d] = is_one ? 0 : strides[d] / 2;
  }
  return PlannedTensor{real.buffer(), Strided(dtype, real.shape(), std::move(strides), real.offset() / 2)};
}

}  // namespace tenon
