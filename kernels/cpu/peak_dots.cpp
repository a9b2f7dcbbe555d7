// Chains of AVX-512's dot products of bfloat16 pairs and of bytes, where products use them. Built for that
// alone.
#include "kernels/cpu/peak_chains.h"
#include "kernels/cpu/peak_loops.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {

double pair_chains() {
  if (!runs_tile(TileForm::bf16_dot)) return 0;
  return run_chains(
      vf{}, 2 * 2 * VL, [](vf sum, vf factor) __attribute__((always_inline)) {
        const auto pairs = reinterpret_cast<__m512bh>(factor);
        return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), pairs, pairs));
      });
}

double byte_chains() {
  if (!runs_byte_dot()) return 0;
  return run_chains(
      vi{}, 2 * 4 * VL, [](vi sum, vi factor) __attribute__((always_inline)) {
        const auto bytes = reinterpret_cast<__m512i>(factor);
        return reinterpret_cast<vi>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), bytes, bytes));
      });
}

}  // namespace tenon::cpu::TENON_ISA
