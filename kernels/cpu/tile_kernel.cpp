// The register tile kernels. Built once per ISA.
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/small_pairs.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct Floats : PlainForm {
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

// Bytes 0 and 2 of each word, then 1 and 3, as pairs of 16 bits.
struct Bytes : Floats {
  static constexpr bool sums_are_integers = true;
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    const vu a = reinterpret_cast<vu>(x), b = reinterpret_cast<vu>(factor), s = reinterpret_cast<vu>(sum);
    const vu even = a & 0x00ff00ffu, odd = (a >> 8) & 0x00ff00ffu;
#if defined(__AVX512F__)
    const auto word = reinterpret_cast<__m512i>(b);
    const __m512i low = _mm512_srai_epi16(_mm512_slli_epi16(word, 8), 8), high = _mm512_srai_epi16(word, 8);
    const vu products = reinterpret_cast<vu>(_mm512_madd_epi16(reinterpret_cast<__m512i>(even), low)) +
                        reinterpret_cast<vu>(_mm512_madd_epi16(reinterpret_cast<__m512i>(odd), high));
#elif defined(__AVX2__) && TENON_VL == 8
    const auto word = reinterpret_cast<__m256i>(b);
    const __m256i low = _mm256_srai_epi16(_mm256_slli_epi16(word, 8), 8), high = _mm256_srai_epi16(word, 8);
    const vu products = reinterpret_cast<vu>(_mm256_madd_epi16(reinterpret_cast<__m256i>(even), low)) +
                        reinterpret_cast<vu>(_mm256_madd_epi16(reinterpret_cast<__m256i>(odd), high));
#else
    const auto signed_byte = [](vu at_the_top) {
      return reinterpret_cast<vu>(reinterpret_cast<vi>(at_the_top) >> 24);
    };
    const vu products = (even & 0xffffu) * signed_byte(b << 24) + (odd & 0xffffu) * signed_byte(b << 16) +
                        (even >> 16) * signed_byte(b << 8) + (odd >> 16) * signed_byte(b);
#endif
    return reinterpret_cast<vf>(s + products);
  }
};

}  // namespace

/// Of tile_kernel_groups.cpp.
TileKernel groups_tile(TileForm form, const TileCall& call);

#if defined(__AVX2__) && TENON_VL == 8
/// Of tile_kernel_split.cpp.
TileKernel split_bytes_tile(const TileCall& call);
bool runs_split_bytes() { return true; }
#else
bool runs_split_bytes() { return false; }
static TileKernel split_bytes_tile(const TileCall&) { return nullptr; }
#endif

#if TENON_VL != 16
bool has_matrix_unit() { return false; }
void configure_unit(long) {}
void release_unit() {}
TileKernel unit_tile(TileForm, int, bool) { return nullptr; }
#endif

#if defined(__AVX512F__)
/// Of tile_kernel_bytes.cpp.
TileKernel byte_dot_tile(const TileCall& call);
/// Of tile_kernel_dot.cpp.
bool runs_bf16_dot();
TileKernel bf16_dot_tile(const TileCall& call);
/// Of small_pairs_dot.cpp.
void small_pairs_by_dot(const SmallPairs& p, long first, long last);
#else
bool runs_byte_dot() { return false; }
static TileKernel byte_dot_tile(const TileCall&) { return nullptr; }
static bool runs_bf16_dot() { return false; }
static TileKernel bf16_dot_tile(const TileCall&) { return nullptr; }
static void small_pairs_by_dot(const SmallPairs&, long, long) {}
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

void run_small_pairs(const SmallPairs& p, long first, long last) { small_pairs_by_dot(p, first, last); }

bool runs_small_pairs() { return runs_bf16_dot(); }

bool runs_tile(TileForm form) { return form != TileForm::bf16_dot || runs_bf16_dot(); }

TileKernel tile_kernel(TileForm form, const TileCall& call) {
  switch (form) {
    case TileForm::f32: return pick_tile<Floats>(call);
    case TileForm::f16: return pick_tile<Halves>(call);
    case TileForm::bf16: return pick_tile<BfloatPairs>(call);
    case TileForm::bf16_dot: return bf16_dot_tile(call);
    case TileForm::split_bytes: return split_bytes_tile(call);
    case TileForm::groups4:
    case TileForm::groups8: return groups_tile(form, call);
    case TileForm::pieces: return nullptr;
    case TileForm::bytes: return runs_byte_dot() ? byte_dot_tile(call) : pick_tile<Bytes>(call);
  }
  return nullptr;
}

}  // namespace tenon::cpu::TENON_ISA
