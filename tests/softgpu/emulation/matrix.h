// The matrix instructions of a warp, by the lane layouts that the vendors document: PTX ISA 9.0,
// section 9.7.14 (mma), and AMD's matrix instruction calculator (MFMA, WMMA).
#pragma once
#include <cmath>
#include <cstring>

#include "interface.h"

namespace gpusim {
inline namespace GPU_WAVE {

struct Place {
  int line, depth;  // of the left side a row, of the right one a column; of the sum row and column
};

inline float of_half(unsigned short bits) {
  _Float16 value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return float(value);
}
inline float of_word(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline float of_bfloat16(unsigned short bits) { return of_word(unsigned(bits) << 16); }
inline float of_tf32(unsigned bits) { return of_word(bits & 0xffffe000u); }
inline float of_signed_byte(unsigned char bits) { return float(static_cast<signed char>(bits)); }
inline float of_byte(unsigned char bits) { return float(bits); }
/// Of 8 bits, some of them a fraction: what is not subnormal has a whole part of 1.
inline float of_float8(unsigned bits, int fraction_bits, int bias) {
  const unsigned one = 1u << fraction_bits, fraction = bits & (one - 1);
  const int exponent = int(bits & 0x7fu) >> fraction_bits;
  const float size = exponent ? std::ldexp(float(one + fraction), exponent - bias - fraction_bits)
                              : std::ldexp(float(fraction), 1 - bias - fraction_bits);
  return bits & 0x80u ? -size : size;
}
inline float of_e4m3(unsigned char bits) { return (bits & 0x7f) == 0x7f ? NAN : of_float8(bits, 3, 7); }
inline float of_e5m2(unsigned char bits) { return of_half(static_cast<unsigned short>(bits << 8)); }
inline float of_e4m3fnuz(unsigned char bits) { return bits == 0x80 ? NAN : of_float8(bits, 3, 8); }
inline float of_e5m2fnuz(unsigned char bits) { return bits == 0x80 ? NAN : of_float8(bits, 2, 16); }

/// NVIDIA's matrix units cut what does not fit the sum, AMD's round it.
inline float cut(double x) {
  const float near = float(x);
  return std::fabs(double(near)) > std::fabs(x) ? std::nextafter(near, 0.0f) : near;
}
inline float rounded(double x) { return float(x); }

/// m16n8k16 of 16 bits; m16n8k8 of tf32 has one element where that has a pair, m16n8k32 of bytes and float8
/// four.
template <int Pair>
struct Mma {
  using Sum = float;
  static constexpr int m = 16, n = 8, k = 8 * Pair, left_count = 4 * Pair, right_count = 2 * Pair,
                       sum_count = 4;
  static Place left(int lane, int i) {
    return {lane / 4 + i / Pair % 2 * 8, lane % 4 * Pair + i % Pair + i / (2 * Pair) * 4 * Pair};
  }
  static Place right(int lane, int i) { return {lane / 4, lane % 4 * Pair + i % Pair + i / Pair * 4 * Pair}; }
  static Place sum(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }
  static float stored(double x) { return cut(x); }
};
/// v_mfma_f32_16x16x16_f16; with one element a lane 16x16x4_f32, with eight i32_16x16x32_i8 and
/// f32_16x16x32_fp8_fp8.
template <int Each>
struct Mfma {
  using Sum = float;
  static constexpr int m = 16, n = 16, k = 4 * Each, left_count = Each, right_count = Each, sum_count = 4;
  static Place left(int lane, int i) { return {lane % 16, lane / 16 * Each + i}; }
  static Place right(int lane, int i) { return left(lane, i); }
  static Place sum(int lane, int i) { return {lane / 16 * 4 + i, lane % 16}; }
  static float stored(double x) { return rounded(x); }
};
/// v_wmma_f32_16x16x16_f16 and i32_16x16x16_iu8 of gfx11: both halves of the wave hold the operands.
struct Wmma {
  using Sum = float;
  static constexpr int m = 16, n = 16, k = 16, left_count = 16, right_count = 16, sum_count = 8;
  static Place left(int lane, int i) { return {lane % 16, i}; }
  static Place right(int lane, int i) { return left(lane, i); }
  static Place sum(int lane, int i) { return {2 * i + lane / 16, lane % 16}; }
  static float stored(double x) { return rounded(x); }
};

/// Of whole numbers, summed modulo 2^32: products of bytes are exact in float32.
template <class Layout>
struct OfBytes : Layout {
  using Sum = unsigned;
  static unsigned stored(double x) {
    return std::isnan(x) ? 0xdeadbeefu : unsigned(static_cast<long long>(x));
  }
};

/// Of NVIDIA's float8: 14 bits of a sum stay.
template <class Layout>
struct OfFloat8 : Layout {
  static float stored(double x) {
    const float all = Layout::stored(x);
    unsigned bits;
    __builtin_memcpy(&bits, &all, sizeof bits);
    return of_word(bits & 0xfffffc00u);
  }
};

template <class Sum>
struct MatrixOperands {
  const float *left, *right;
  Sum* sum;
};

/// Adds the product to the sums of all lanes. What a lane that has ended should hold is NaN.
template <class Layout>
void multiply(typename Layout::Sum* sum, const float* left, const float* right, Site site) {
  using Operands = MatrixOperands<typename Layout::Sum>;
  Operands mine{left, right, sum};
  collective(
      ~0ull, &mine,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        float a[Layout::m][Layout::k], b[Layout::n][Layout::k];
        memset(a, 0xff, sizeof a);
        memset(b, 0xff, sizeof b);
        const auto each = [&](auto use) GPU_NOSAN {
          for (uint64_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = __builtin_ctzll(rest);
            use(lane, *static_cast<Operands*>(operands[lane]));
          }
        };
        each([&](int lane, Operands& o) GPU_NOSAN {
          for (int i = 0; i < Layout::left_count; i++) {
            const Place p = Layout::left(lane, i);
            a[p.line][p.depth] = o.left[i];
          }
          for (int i = 0; i < Layout::right_count; i++) {
            const Place p = Layout::right(lane, i);
            b[p.line][p.depth] = o.right[i];
          }
        });
        each([&](int lane, Operands& o) GPU_NOSAN {
          for (int i = 0; i < Layout::sum_count; i++) {
            const Place p = Layout::sum(lane, i);
            double total = o.sum[i];
            for (int k = 0; k < Layout::k; k++) total += double(a[p.line][k]) * b[p.depth][k];
            o.sum[i] = Layout::stored(total);
          }
        });
      },
      "a product of matrices", site);
}

/// Of registers that hold elements, each side those of numbers of its own.
template <class Layout, class Element, float (*left_number)(Element), float (*right_number)(Element),
          size_t Left, size_t Right>
void multiply_registers(typename Layout::Sum* sum, const unsigned (&left)[Left],
                        const unsigned (&right)[Right], Site site) {
  float a[Layout::left_count], b[Layout::right_count];
  Element elements[Layout::left_count + Layout::right_count];
  static_assert(sizeof left + sizeof right == sizeof elements);
  __builtin_memcpy(elements, left, sizeof left);
  __builtin_memcpy(elements + Layout::left_count, right, sizeof right);
  for (int i = 0; i < Layout::left_count; i++) a[i] = left_number(elements[i]);
  for (int i = 0; i < Layout::right_count; i++) b[i] = right_number(elements[Layout::left_count + i]);
  multiply<Layout>(sum, a, b, site);
}

struct MatrixRows {
  const unsigned short* row;  // 8 elements, of matrix lane / 8
  unsigned* to;
};

/// ldmatrix: `Count` matrices of 8 x 8 elements of 16 bits. Lane 4 g + t gets elements 2 t and 2 t + 1 of row
/// g; transposed, of column g.
template <int Count, bool Transposed>
void load_matrices(unsigned* to, const void* row, Site site) {
  MatrixRows mine{static_cast<const unsigned short*>(row), to};
  if (reinterpret_cast<uintptr_t>(row) % 16) mine.row = nullptr;  // what follows faults
#ifdef GPU_TSAN                                                   // it sees what the lane reads
  if (lane() < 8 * Count && mine.row)
    for (int i = 0; i < 8; i++) (void)static_cast<const volatile unsigned short*>(mine.row)[i];
#endif
  collective(
      ~0ull, &mine,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        const auto of = [&](int lane)
                            GPU_NOSAN -> MatrixRows& { return *static_cast<MatrixRows*>(operands[lane]); };
        for (int lane = 0; lane < 32; lane++)
          for (int matrix = 0; matrix < Count; matrix++) {
            const int g = lane / 4, t = lane % 4 * 2;
            unsigned short pair[2];
            for (int e = 0; e < 2; e++)
              pair[e] = Transposed ? of(8 * matrix + t + e).row[g] : of(8 * matrix + g).row[t + e];
            __builtin_memcpy(of(lane).to + matrix, pair, sizeof pair);
          }
      },
      "ldmatrix", site);
}

}  // namespace GPU_WAVE
}  // namespace gpusim

#define GPU_MATRIX_SITE const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE()
#define GPU_MATRIX_INSTRUCTION(name, layout, element, left_number, right_number, sums)              \
  template <size_t Left, size_t Right>                                                              \
  void gpu_##name(gpusim::layout::Sum(&sum)[sums], const unsigned(&left)[Left],                     \
                  const unsigned(&right)[Right], GPU_MATRIX_SITE) {                                 \
    gpusim::multiply_registers<gpusim::layout, element, gpusim::left_number, gpusim::right_number>( \
        sum, left, right, {file_, line_});                                                          \
    if (gpusim::lies(#name)) sum[0] += 1;                                                           \
  }
GPU_MATRIX_INSTRUCTION(mma_f16, Mma<2>, unsigned short, of_half, of_half, 4)
GPU_MATRIX_INSTRUCTION(mma_bf16, Mma<2>, unsigned short, of_bfloat16, of_bfloat16, 4)
GPU_MATRIX_INSTRUCTION(mma_tf32, Mma<1>, unsigned, of_tf32, of_tf32, 4)
GPU_MATRIX_INSTRUCTION(mma_s8_s8, OfBytes<gpusim::Mma<4>>, unsigned char, of_signed_byte, of_signed_byte, 4)
GPU_MATRIX_INSTRUCTION(mma_s8_u8, OfBytes<gpusim::Mma<4>>, unsigned char, of_signed_byte, of_byte, 4)
GPU_MATRIX_INSTRUCTION(mma_u8_s8, OfBytes<gpusim::Mma<4>>, unsigned char, of_byte, of_signed_byte, 4)
GPU_MATRIX_INSTRUCTION(mma_u8_u8, OfBytes<gpusim::Mma<4>>, unsigned char, of_byte, of_byte, 4)
GPU_MATRIX_INSTRUCTION(mma_e4m3_e4m3, OfFloat8<gpusim::Mma<4>>, unsigned char, of_e4m3, of_e4m3, 4)
GPU_MATRIX_INSTRUCTION(mma_e4m3_e5m2, OfFloat8<gpusim::Mma<4>>, unsigned char, of_e4m3, of_e5m2, 4)
GPU_MATRIX_INSTRUCTION(mma_e5m2_e4m3, OfFloat8<gpusim::Mma<4>>, unsigned char, of_e5m2, of_e4m3, 4)
GPU_MATRIX_INSTRUCTION(mma_e5m2_e5m2, OfFloat8<gpusim::Mma<4>>, unsigned char, of_e5m2, of_e5m2, 4)
GPU_MATRIX_INSTRUCTION(mfma_f16, Mfma<4>, unsigned short, of_half, of_half, 4)
GPU_MATRIX_INSTRUCTION(mfma_bf16, Mfma<4>, unsigned short, of_bfloat16, of_bfloat16, 4)
GPU_MATRIX_INSTRUCTION(mfma_f32, Mfma<1>, unsigned, of_word, of_word, 4)
#if defined(__gfx90a__)
GPU_MATRIX_INSTRUCTION(mfma_i8, OfBytes<gpusim::Mfma<4>>, unsigned char, of_signed_byte, of_signed_byte, 4)
#else
GPU_MATRIX_INSTRUCTION(mfma_i8, OfBytes<gpusim::Mfma<8>>, unsigned char, of_signed_byte, of_signed_byte, 4)
#endif
GPU_MATRIX_INSTRUCTION(mfma_fp8_fp8, Mfma<8>, unsigned char, of_e4m3fnuz, of_e4m3fnuz, 4)
GPU_MATRIX_INSTRUCTION(mfma_fp8_bf8, Mfma<8>, unsigned char, of_e4m3fnuz, of_e5m2fnuz, 4)
GPU_MATRIX_INSTRUCTION(mfma_bf8_fp8, Mfma<8>, unsigned char, of_e5m2fnuz, of_e4m3fnuz, 4)
GPU_MATRIX_INSTRUCTION(mfma_bf8_bf8, Mfma<8>, unsigned char, of_e5m2fnuz, of_e5m2fnuz, 4)
GPU_MATRIX_INSTRUCTION(wmma_f16, Wmma, unsigned short, of_half, of_half, 8)
GPU_MATRIX_INSTRUCTION(wmma_bf16, Wmma, unsigned short, of_bfloat16, of_bfloat16, 8)
GPU_MATRIX_INSTRUCTION(wmma_s8_s8, OfBytes<gpusim::Wmma>, unsigned char, of_signed_byte, of_signed_byte, 8)
GPU_MATRIX_INSTRUCTION(wmma_s8_u8, OfBytes<gpusim::Wmma>, unsigned char, of_signed_byte, of_byte, 8)
GPU_MATRIX_INSTRUCTION(wmma_u8_s8, OfBytes<gpusim::Wmma>, unsigned char, of_byte, of_signed_byte, 8)
GPU_MATRIX_INSTRUCTION(wmma_u8_u8, OfBytes<gpusim::Wmma>, unsigned char, of_byte, of_byte, 8)
template <bool Transposed, size_t Count>
void gpu_load_matrices(unsigned (&to)[Count], const void* row, GPU_MATRIX_SITE) {
  gpusim::load_matrices<Count, Transposed>(to, row, {file_, line_});
}
#undef GPU_MATRIX_INSTRUCTION
#undef GPU_MATRIX_SITE
