// The matrix units that products may be computed on.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/dtype.h"

namespace tenon::gpu {

/// By what they multiply. Those of a wave are mma.sync, MFMA or WMMA, whichever the device has.
enum class MatrixUnit : std::uint8_t {
  f16,
  bf16,
  f32,        // with all of its accuracy: three products of TF32, or MFMA of float32
  tf32,       // one product of TF32
  wgmma_f16,  // of a warpgroup: four waves of 32, whose operands lie in shared memory
  wgmma_bf16,
  wgmma_f32,  // three products of TF32
  tma_f16,    // the same, whose operands the Tensor Memory Accelerator brings there
  tma_bf16,
  tma_f32,
  i8,      // bytes of either sign, summed in 32 bits
  f8,      // float8, e4m3fn or e5m2 on each side
  f8fnuz,  // e4m3fnuz or e5m2fnuz
};
inline constexpr std::array matrix_units{MatrixUnit::f16,       MatrixUnit::bf16,      MatrixUnit::f32,
                                         MatrixUnit::tf32,      MatrixUnit::wgmma_f16, MatrixUnit::wgmma_bf16,
                                         MatrixUnit::wgmma_f32, MatrixUnit::tma_f16,   MatrixUnit::tma_bf16,
                                         MatrixUnit::tma_f32,   MatrixUnit::i8,        MatrixUnit::f8,
                                         MatrixUnit::f8fnuz};

/// Some of them.
class MatrixUnits {
 public:
  constexpr MatrixUnits(std::initializer_list<MatrixUnit> units = {}) {
    for (const MatrixUnit u : units) add(u);
  }
  constexpr void add(MatrixUnit u) { bits_ |= 1U << static_cast<unsigned>(u); }
  constexpr bool has(MatrixUnit u) const { return bits_ >> static_cast<unsigned>(u) & 1U; }

 private:
  unsigned bits_ = 0;
};

constexpr bool takes_bulk_copies(MatrixUnit u) {
  return u == MatrixUnit::tma_f16 || u == MatrixUnit::tma_bf16 || u == MatrixUnit::tma_f32;
}
constexpr bool is_of_warpgroup(MatrixUnit u) {
  return u == MatrixUnit::wgmma_f16 || u == MatrixUnit::wgmma_bf16 || u == MatrixUnit::wgmma_f32 ||
         takes_bulk_copies(u);
}

/// The unit of a wave for numbers of this dtype, with all of their accuracy; none: ordinary ones.
constexpr std::optional<MatrixUnit> unit_of_waves(DType dtype) {
  switch (dtype) {
    case DType::f16: return MatrixUnit::f16;
    case DType::bf16: return MatrixUnit::bf16;
    case DType::f32: return MatrixUnit::f32;
    case DType::i8: return MatrixUnit::i8;
    case DType::f8e4m3fn:
    case DType::f8e5m2: return MatrixUnit::f8;
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz: return MatrixUnit::f8fnuz;
    default: return std::nullopt;
  }
}

}  // namespace tenon::gpu
