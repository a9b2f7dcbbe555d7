// Rows that are copied from their ends. Built once per ISA.
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

#define TENON_REVERSE_ROWS(name, T)                                                               \
  void name(const T* last, long source_stride, T* to, long target_stride, long rows, long cols);  \
  void name(const T* last, long source_stride, T* to, long target_stride, long rows, long cols) { \
    for (long r = 0; r < rows; r++, last += source_stride, to += target_stride)                   \
      TENON_NO_OVERLAP for (long i = 0; i < cols; i++) to[i] = last[-i];                          \
  }
TENON_REVERSE_ROWS(reverse_rows_u8, std::uint8_t)
TENON_REVERSE_ROWS(reverse_rows_u16, std::uint16_t)
TENON_REVERSE_ROWS(reverse_rows_u32, std::uint32_t)
TENON_REVERSE_ROWS(reverse_rows_u64, std::uint64_t)
#undef TENON_REVERSE_ROWS

}  // namespace tenon::cpu::TENON_ISA
