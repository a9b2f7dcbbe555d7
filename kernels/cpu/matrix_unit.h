// The matrix unit of a CPU, Intel's AMX, and the same in plain code: eight tiles of 16 rows of 16 words, of
// which a product adds one by another to a third. Per-ISA code.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

/// Rows of a tile, and words of four bytes in each.
inline constexpr int unit_rows = 16;
inline constexpr int unit_words = 16;

/// What the tiles are for: sums, tile by tile of a product's; factors of whole steps of the depth, and of a
/// last, shorter one of each run. Where no run has such a one, all four may be factors of whole steps.
enum UnitTile { first_sums = 0, whole_a = 4, whole_b = 5, last_a = 6, last_b = 7 };

/// Can this CPU multiply tiles, and may this process?
bool has_matrix_unit();
/// Readies this thread's tiles for runs that end with so many words behind whole steps, and gives them back.
/// In between, nothing else may use them.
void configure_unit(long last_words);
void release_unit();

#if defined(__AMX_TILE__)
// In place of intrinsics, which take no template argument as a number of a tile (g++ 12), nor tell what they
// read.
struct MatrixUnit {
  template <int Tile>
  static TENON_INLINE void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
  }
  /// Rows lie `stride` words apart.
  template <int Tile>
  static TENON_INLINE void load(const float* from, long stride) {
    const long bytes = stride * static_cast<long>(sizeof(float));
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(bytes), "i"(Tile) : "memory");
  }
  template <int Tile>
  static TENON_INLINE void store(float* to, long stride) {
    const long bytes = stride * static_cast<long>(sizeof(float));
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(bytes), "i"(Tile) : "memory");
  }
  /// Sums of products of pairs of bfloat16, in float32; subnormal numbers count as zero (Intel's manual,
  /// TDPBF16PS).
  template <int Sums, int A, int B>
  static TENON_INLINE void add_pairs() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(A), "i"(B));
  }
  /// Of unsigned bytes by signed ones, in int32.
  template <int Sums, int A, int B>
  static TENON_INLINE void add_bytes() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(A), "i"(B));
  }
};
#elif TENON_VL == 16
/// The tiles of this thread.
struct EmulatedUnit {
  float word[8][unit_rows][unit_words];
  long last_words;  // configure_unit's
};
EmulatedUnit& emulated_unit();

struct MatrixUnit {
  template <int Tile>
  static void zero() {
    __builtin_memset(emulated_unit().word[Tile], 0, sizeof emulated_unit().word[Tile]);
  }
  template <int Tile>
  static void load(const float* from, long stride) {
    EmulatedUnit& unit = emulated_unit();
    const long rows = Tile == last_b && unit.last_words > 0 ? unit.last_words : unit_rows;
    const long words = Tile == last_a && unit.last_words > 0 ? unit.last_words : unit_words;
    zero<Tile>();
    for (long i = 0; i < rows; i++)
      __builtin_memcpy(unit.word[Tile][i], from + i * stride,
                       static_cast<unsigned long>(words) * sizeof(float));
  }
  template <int Tile>
  static void store(float* to, long stride) {
    for (long i = 0; i < unit_rows; i++)
      __builtin_memcpy(to + i * stride, emulated_unit().word[Tile][i], sizeof emulated_unit().word[Tile][i]);
  }
  template <int Sums, int A, int B>
  static void add_pairs() {
    EmulatedUnit& unit = emulated_unit();
    for (long i = 0; i < unit_rows; i++) {
      vf even{}, odd{};
      for (long k = 0; k < unit_words; k++) {
        const auto half = [](float x, int which) {
          std::uint32_t word;
          __builtin_memcpy(&word, &x, sizeof word);
          return (which == 0 ? word << 16 : word & 0xffff0000u);
        };
        const vu b = reinterpret_cast<vu>(TENON_ISA::load(unit.word[B][k]));
        const float a = unit.word[A][i][k];
        const vu a_even = vu{} + half(a, 0), a_odd = vu{} + half(a, 1);
        even += reinterpret_cast<vf>(a_even) * reinterpret_cast<vf>(b << 16);
        odd += reinterpret_cast<vf>(a_odd) * reinterpret_cast<vf>(b & 0xffff0000u);
      }
      TENON_ISA::store(unit.word[Sums][i], TENON_ISA::load(unit.word[Sums][i]) + (even + odd));
    }
  }
  template <int Sums, int A, int B>
  static void add_bytes() {
    EmulatedUnit& unit = emulated_unit();
    const auto* const a = reinterpret_cast<const std::uint8_t(*)[4 * unit_words]>(unit.word[A]);
    const auto* const b = reinterpret_cast<const std::int8_t(*)[4 * unit_words]>(unit.word[B]);
    auto* const sums = reinterpret_cast<std::uint32_t(*)[unit_words]>(unit.word[Sums]);
    for (long i = 0; i < unit_rows; i++)
      for (long k = 0; k < unit_words; k++)
        for (long n = 0; n < 4 * unit_words; n++)
          sums[i][n / 4] += static_cast<std::uint32_t>(a[i][4 * k + n % 4] * b[k][n]);
  }
};
#endif

}  // namespace tenon::cpu::TENON_ISA
