// One small block of a transposing copy, VL x VL in registers. Built once per ISA.
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE void transpose_tile(int rows, int cols, const float* source, long source_stride,
                                        float* target, long target_stride) {
  vf r[VL];
  TENON_UNROLL
  for (int i = 0; i < VL; i++) {
    const float* p = source + i * source_stride;
    r[i] = i >= rows ? vf{} : cols == VL ? load(p) : load_partial(p, cols);
  }
  transpose(r);
  TENON_UNROLL
  for (int i = 0; i < VL; i++) {
    if (i >= cols) continue;
    float* p = target + i * target_stride;
    if (rows == VL) {
      store(p, r[i]);
    } else {
      store_partial(p, r[i], rows);
    }
  }
}

void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride) {
  for (long c = 0; c < cols; c += VL) {
    const int cs = static_cast<int>(cols - c < VL ? cols - c : VL);
    for (long r = 0; r < rows; r += VL) {
      const int rs = static_cast<int>(rows - r < VL ? rows - r : VL);
      const float* s = source + r * source_stride + c;
      float* t = target + c * target_stride + r;
      if (rs == VL && cs == VL) {
        transpose_tile(VL, VL, s, source_stride, t, target_stride);
      } else {
        transpose_tile(rs, cs, s, source_stride, t, target_stride);
      }
    }
  }
}

}  // namespace tenon::cpu::TENON_ISA
