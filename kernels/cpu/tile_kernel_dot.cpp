// The register tile on AVX-512's dot product of bfloat16 pairs. Built for that alone.
#include "kernels/cpu/tile_pairs.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Both products are exact, and are added in float32 one after the other, the second first. Subnormal numbers
// count as zero (Intel's manual, VDPBF16PS).
struct DotOfPairs : PairsToHalves {
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(x),
                                                 reinterpret_cast<__m512bh>(factor)));
  }
};

}  // namespace

bool runs_bf16_dot();
// AMD's give twice the rate of float32 (Zen 5; Zen 4: 232 against 117 GFLOP/s). Intel's give half of it
// (measured on Emerald Rapids: 96 against 185 GFLOP/s), so pairs are widened there.
bool runs_bf16_dot() {
  static const bool runs = __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_is("amd") != 0;
  return runs;
}

TileKernel bf16_dot_tile(const TileCall& call);
TileKernel bf16_dot_tile(const TileCall& call) { return pick_tile<DotOfPairs>(call); }

}  // namespace tenon::cpu::TENON_ISA
