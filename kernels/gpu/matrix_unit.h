// The matrix units that products may be computed on.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>

namespace tenon::gpu {

/// By what they multiply. Those of a wave are mma.sync, MFMA or WMMA, whichever the device has.
enum class MatrixUnit : std::uint8_t {
  f16,
  bf16,
  f32,        // with all of its accuracy: three products of TF32, or MFMA of float32
  tf32,       // one product of TF32
  wgmma_f16,  // of a warpgroup: four waves of 32, whose operands lie in shared memory
  wgmma_bf16,
};
inline constexpr std::array matrix_units{MatrixUnit::f16,  MatrixUnit::bf16,      MatrixUnit::f32,
                                         MatrixUnit::tf32, MatrixUnit::wgmma_f16, MatrixUnit::wgmma_bf16};

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

}  // namespace tenon::gpu
