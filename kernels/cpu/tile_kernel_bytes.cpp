// The register tile on AVX-512's dot product of bytes. Built for that alone.
#include "kernels/cpu/tile_codes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Four bytes of A, unsigned, by four of B, signed, added to 32-bit integers, which wrap around.
struct DotOfBytes : BytesToCodes {
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    return reinterpret_cast<vf>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(factor)));
  }
};

}  // namespace

bool runs_byte_dot() {
  static const bool runs = __builtin_cpu_supports("avx512vnni") != 0;
  return runs;
}

TileKernel byte_dot_tile(const TileCall& call);
TileKernel byte_dot_tile(const TileCall& call) { return pick_tile<DotOfBytes>(call); }

}  // namespace tenon::cpu::TENON_ISA
