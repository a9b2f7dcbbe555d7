// The register tile on AVX-512's dot product of bytes. Built for that alone.
#include "kernels/cpu/sum_codes.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Four bytes of A, unsigned, by four of B, signed, added to 32-bit integers, which wrap around.
struct DotOfBytes {
  static constexpr bool sums_are_integers = true;
  static constexpr bool makes_codes = true;
  static constexpr int depth = 1;
  static constexpr int vector_words = VL;
  using Stored = vf;
  static TENON_INLINE vf load(const float* p) { return TENON_ISA::load(p); }
  template <int>
  static TENON_INLINE vf factor(vf stored) {
    return stored;
  }
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    return reinterpret_cast<vf>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(factor)));
  }

  template <int Rows, int Vectors>
  static TENON_INLINE void store_codes(const Tile& t, long col, const vf (&sum)[Rows][Vectors],
                                       int last_lanes) {
    __m512 number[Rows][Vectors];
    const Numbers<Vectors> numbers(t, col, last_lanes);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) number[i][j] = numbers.of(sum[i][j], j);
    }
    if (t.residual_codes) {
      const SumWithResidual with_residual(*t.codes->residual);
      const auto last = static_cast<__mmask16>((1U << last_lanes) - 1);
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) {
        TENON_UNROLL
        for (int j = 0; j < Vectors; j++) {
          const std::uint8_t* const from = t.residual_codes + col + t.c_row[i] + j * VL;
          const __mmask16 inside = j == Vectors - 1 ? last : static_cast<__mmask16>(-1);
          number[i][j] = with_residual.of(number[i][j], _mm_maskz_loadu_epi8(inside, from));
        }
      }
    }
    store_codes_of(t, col, number, last_lanes);
  }

 private:
  template <int Rows, int Vectors>
  static TENON_INLINE void store_codes_of(const Tile& t, long col, const __m512 (&number)[Rows][Vectors],
                                          int last_lanes) {
    const SumCoder coder(*t.codes);
    std::uint8_t* const to = t.codes_to + col;
    constexpr int rows = Vectors < 4 ? 4 / Vectors : 1, columns = 4 / rows;  // of four vectors
    TENON_UNROLL
    for (int i = 0; i < Rows; i += rows) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j += columns) {
        // Behind the last row comes that again.
        const auto number_at = [&](int n) __attribute__((always_inline)) {
          const int row = i + n / columns;
          return number[row < Rows ? row : Rows - 1][j + n % columns];
        };
        const __m512i bytes = in_vectors(coder.bytes(number_at(0), number_at(1), number_at(2), number_at(3)));
        TENON_UNROLL
        for (int r = 0; r < rows; r++) {
          if (i + r >= Rows) break;
          const bool is_last = j + columns == Vectors;
          store_row<columns>(to + t.c_row[i + r] + j * VL, bytes, r, is_last ? last_lanes : VL);
        }
      }
    }
  }

  template <int Vectors>
  class Numbers {
   public:
    TENON_INLINE Numbers(const Tile& t, long col, int last_lanes) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) {
        scale_[j] = reinterpret_cast<__m512>(TENON_ISA::load(t.integer_scales + col + j * VL));
        const int lanes = j == Vectors - 1 ? last_lanes : VL;
        bias_[j] = t.bias ? reinterpret_cast<__m512>(load_lanes(t.bias + col + j * VL, lanes)) : __m512{};
      }
    }
    TENON_INLINE __m512 of(vf sum, int j) const {
      return _mm512_fmadd_ps(_mm512_cvtepi32_ps(reinterpret_cast<__m512i>(sum)), scale_[j], bias_[j]);
    }

   private:
    __m512 scale_[Vectors], bias_[Vectors];
  };

  // One vector's 16 bytes after the other's.
  static TENON_INLINE __m512i in_vectors(__m512i bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
  // So many vectors' bytes, those of row r.
  template <int vectors>
  static TENON_INLINE void store_row(std::uint8_t* to, __m512i bytes, int r, int last_lanes) {
    if (vectors == 4 && last_lanes == VL) return _mm512_storeu_si512(to, bytes);
    const __mmask64 inside = ~__mmask64{0} >> (64 - (vectors - 1) * VL - last_lanes);
    if constexpr (vectors == 4) {
      _mm512_mask_storeu_epi8(to, inside, bytes);
    } else if constexpr (vectors == 2) {
      const __m256i half = r == 0 ? _mm512_extracti64x4_epi64(bytes, 0) : _mm512_extracti64x4_epi64(bytes, 1);
      if (last_lanes == VL)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), half);
      else
        _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(inside), half);
    } else {
      const __m128i part = r == 0   ? _mm512_extracti32x4_epi32(bytes, 0)
                           : r == 1 ? _mm512_extracti32x4_epi32(bytes, 1)
                           : r == 2 ? _mm512_extracti32x4_epi32(bytes, 2)
                                    : _mm512_extracti32x4_epi32(bytes, 3);
      _mm_mask_storeu_epi8(to, static_cast<__mmask16>(inside), part);
    }
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
