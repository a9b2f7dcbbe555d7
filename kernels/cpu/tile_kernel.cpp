// The register tile kernels. Built once per ISA.
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct Floats {
  static constexpr int depth = 1;
  static constexpr int vector_words = VL;
  using Stored = vf;
  static TENON_INLINE vf load(const float* p) { return TENON_ISA::load(p); }
  template <int>
  static TENON_INLINE vf factor(vf stored) {
    return stored;
  }
  static TENON_INLINE vf add(vf sum, vf x, vf factor) { return sum + x * factor; }
};

struct Halves : Floats {
  static constexpr int vector_words = VL / 2;
  static TENON_INLINE vf load(const float* p) {
    return F16::widen(*reinterpret_cast<const vh_unaligned*>(p));
  }
};

struct BfloatPairs : Floats {
  static constexpr int depth = 2;
  using Stored = vu;
  static TENON_INLINE vu load(const float* p) { return reinterpret_cast<vu>(TENON_ISA::load(p)); }
  template <int Word>
  static TENON_INLINE vf factor(vu stored) {
    return reinterpret_cast<vf>(Word == 0 ? stored << 16 : stored & 0xffff0000u);
  }
};

}  // namespace

#if defined(__AVX512F__)
/// Of tile_kernel_dot.cpp.
bool runs_bf16_dot();
TileKernel bf16_dot_tile(const TileCall& call);
#else
static bool runs_bf16_dot() { return false; }
static TileKernel bf16_dot_tile(const TileCall&) { return nullptr; }
#endif

bool runs_tile(TileForm form) { return form != TileForm::bf16_dot || runs_bf16_dot(); }

TileKernel tile_kernel(TileForm form, const TileCall& call) {
  switch (form) {
    case TileForm::f32: return pick_tile<Floats>(call);
    case TileForm::f16: return pick_tile<Halves>(call);
    case TileForm::bf16: return pick_tile<BfloatPairs>(call);
    case TileForm::bf16_dot: return bf16_dot_tile(call);
  }
  return nullptr;
}

}  // namespace tenon::cpu::TENON_ISA
