// The register tile on AVX2's product of unsigned by signed bytes. Built for that alone.
#include "kernels/cpu/tile_codes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// The products of two neighbours are added in 16 bits: B is split.
struct SplitBytes : BytesToCodes {
  static constexpr bool has_rest = true;
  // In one piece, and with constants that lie in memory: else there are more values than registers.
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    vf products;
    asm("vpmaddubsw %[factor], %[x], %[products]\n\t"
        "vpmaddwd %[ones], %[products], %[products]\n\t"
        "vpaddd %[products], %[sum], %[sum]"
        : [products] "=&x"(products), [sum] "+x"(sum)
        : [factor] "xm"(factor), [x] "x"(x), [ones] "m"(ones));
    return sum;
  }
  static TENON_INLINE vf add_rest(vf sum, vf x, vf factor) {
    asm("vpand %[even], %[x], %[x]\n\t"
        "vpmaddwd %[factor], %[x], %[x]\n\t"
        "vpaddd %[x], %[sum], %[sum]"
        : [x] "+x"(x), [sum] "+x"(sum)
        : [factor] "xm"(factor), [even] "m"(even_bytes));
    return sum;
  }

 private:
  static constexpr vu ones = vu{} + 0x00010001u, even_bytes = vu{} + 0x00ff00ffu;
};
static_assert(RestOfBytes::columns == VL);

}  // namespace

TileKernel split_bytes_tile(const TileCall& call);
TileKernel split_bytes_tile(const TileCall& call) { return pick_tile<SplitBytes>(call); }

}  // namespace tenon::cpu::TENON_ISA
