// The register tile kernels. Built once per ISA.
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct Floats {
  static constexpr bool sums_are_integers = false;
  static constexpr bool makes_codes = false;
  static constexpr int depth = 1, passes = 1;
  static constexpr int vector_words = VL;
  using Stored = vf;
  static TENON_INLINE vf load(const float* p) { return TENON_ISA::load(p); }
  template <int>
  static TENON_INLINE vf factor(vf stored) {
    return stored;
  }
  template <int>
  static TENON_INLINE vf of_a(vf x) {
    return x;
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

// Pairs of 16 bits, of which each is multiplied and both products are added.
typedef std::int16_t pairs __attribute__((vector_size(VL * 4)));
typedef std::uint16_t unsigned_pairs __attribute__((vector_size(VL * 4)));
static TENON_INLINE vi sum_of_products(pairs a, pairs b) {
#if defined(__AVX512F__)
  return reinterpret_cast<vi>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vi>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__) && TENON_VL == 4
  return reinterpret_cast<vi>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const vi first = reinterpret_cast<vi>(a), second = reinterpret_cast<vi>(b);
  return (first << 16 >> 16) * (second << 16 >> 16) + (first >> 16) * (second >> 16);
#endif
}

// Bytes 0 and 2 of each word as pairs of 16 bits, then 1 and 3: registers hold the factors of one pass.
struct Bytes : Floats {
  static constexpr bool sums_are_integers = true;
  static constexpr int passes = 2;
  template <int Pass>
  static TENON_INLINE vf factor(vf stored) {
    const auto bytes = reinterpret_cast<pairs>(stored);
    return reinterpret_cast<vf>((Pass == 0 ? bytes << 8 : bytes) >> 8);
  }
  template <int Pass>
  static TENON_INLINE vf of_a(vf x) {
    if constexpr (Pass == 0) return reinterpret_cast<vf>(reinterpret_cast<vu>(x) & 0x00ff00ffu);
    return reinterpret_cast<vf>(reinterpret_cast<unsigned_pairs>(x) >> 8);
  }
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    const vi products = sum_of_products(reinterpret_cast<pairs>(x), reinterpret_cast<pairs>(factor));
    sum = reinterpret_cast<vf>(reinterpret_cast<vi>(sum) + products);
#if defined(__x86_64__) && TENON_VL <= 8
    asm("" : "+x"(sum));  // else the compiler keeps products to add them in another order
#endif
    return sum;
  }
};

}  // namespace

#if defined(__AVX512F__)
/// Of tile_kernel_bytes.cpp.
TileKernel byte_dot_tile(const TileCall& call);
/// Of tile_kernel_dot.cpp.
bool runs_bf16_dot();
TileKernel bf16_dot_tile(const TileCall& call);
#else
bool runs_byte_dot() { return false; }
static TileKernel byte_dot_tile(const TileCall&) { return nullptr; }
static bool runs_bf16_dot() { return false; }
static TileKernel bf16_dot_tile(const TileCall&) { return nullptr; }
#endif

void prefetch_rounded(const Tile& t, long col, long rows) {
  const RoundedTile& to = *t.rounded;
  for (long i = 0; i < rows; i++) {
    if (to.residual) __builtin_prefetch(t.rounding->further(to.residual, col + to.residual_rows[i]));
    if (to.halves) __builtin_prefetch(to.halves + col + to.halves_rows[i], 1);
  }
}

void round_tile(const Tile& t, long col, float* c, long rows, long cols) {
  RoundedTile tile = *t.rounded;
  tile.sums = c;
  tile.sums_rows = t.c_row;
  if (tile.residual) tile.residual = t.rounding->further(tile.residual, col);
  if (tile.halves) tile.halves += col;
  tile.rows = rows;
  tile.cols = cols;
  finish_rounded(*t.rounding, tile);
}

bool runs_tile(TileForm form) { return form != TileForm::bf16_dot || runs_bf16_dot(); }

TileKernel tile_kernel(TileForm form, const TileCall& call) {
  switch (form) {
    case TileForm::f32: return pick_tile<Floats>(call);
    case TileForm::f16: return pick_tile<Halves>(call);
    case TileForm::bf16: return pick_tile<BfloatPairs>(call);
    case TileForm::bf16_dot: return bf16_dot_tile(call);
    case TileForm::bytes: return runs_byte_dot() ? byte_dot_tile(call) : pick_tile<Bytes>(call);
  }
  return nullptr;
}

}  // namespace tenon::cpu::TENON_ISA
