// Codes of rows. Built once per ISA, without contraction: each operator of the model rounds.
#include "kernels/cpu/coded_rows.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/byte_table.h"
#include "kernels/cpu/scaling.h"

namespace tenon::cpu::TENON_ISA {
namespace {

using Result = CodedRows::Result;
enum class Residual { none, f32, u8, i8 };

// Added to a number of up to 2^22 it leaves the nearest whole one in the lower bits.
constexpr float to_whole = 12582912.0F;

// Which lanes hold numbers, and what is done there.
#if defined(__AVX512F__)
using Numbers = __mmask16;
TENON_INLINE Numbers numbers_in(vf x) {
  const auto v = reinterpret_cast<__m512>(x);
  return _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
}
TENON_INLINE vi add_or_zero(Numbers are, vi a, vi b) {
  return reinterpret_cast<vi>(
      _mm512_maskz_add_epi32(are, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
TENON_INLINE vf subtract_or(Numbers are, vf a, vf b, vf other) {
  return reinterpret_cast<vf>(_mm512_mask_sub_ps(reinterpret_cast<__m512>(other), are,
                                                 reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
}
#else
using Numbers = vi;
TENON_INLINE Numbers numbers_in(vf x) { return x == x; }
TENON_INLINE vi add_or_zero(Numbers are, vi a, vi b) { return are & (a + b); }
TENON_INLINE vf subtract_or(Numbers are, vf a, vf b, vf other) { return are ? a - b : other; }
#endif

// Numbers are clamped before they are scaled: what is at a bound of the codes rounds to it.
class Coder {
 public:
  explicit TENON_INLINE Coder(const Quantise& q)
      : scaling_(q),
        low_(broadcast(q.number_of(q.low))),
        high_(broadcast(q.number_of(q.high))),
        zero_(broadcast(static_cast<std::int32_t>(q.zero) - __builtin_bit_cast(std::int32_t, to_whole))) {}

  TENON_INLINE vi code(vf x) const { return add_or_zero(numbers_in(x), bits(shifted(x)), zero_); }
  /// The whole number of scales, in its lower bits.
  TENON_INLINE vf shifted(vf x) const { return scaling_.of(min_or_b(high_, max_or_b(low_, x))) + to_whole; }

 private:
  Scaling scaling_;
  vf low_, high_;
  vi zero_;
};

TENON_INLINE vb lowest_bytes(vi codes) {
#if defined(__AVX512F__)
  return reinterpret_cast<vb>(_mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(codes)));
#else
  return bytes_of(reinterpret_cast<vu>(codes));
#endif
}
template <bool is_signed>
TENON_INLINE vi numbers_of(vb bytes) {
#if defined(__AVX512F__)
  const auto b = reinterpret_cast<__m128i>(bytes);
  return reinterpret_cast<vi>(is_signed ? _mm512_cvtepi8_epi32(b) : _mm512_cvtepu8_epi32(b));
#else
  return is_signed ? widen_signed(bytes) : widen(bytes);
#endif
}

struct Meaning {
  vf scale, zero;
  explicit TENON_INLINE Meaning(const Dequantise& d) : scale(broadcast(d.scale)), zero(broadcast(d.zero)) {}
  TENON_INLINE vf of(vi code) const { return (to_float(code) - zero) * scale; }
};

// What the code of a number stands for.
class Rounder {
 public:
  TENON_INLINE Rounder(const Quantise& q, const Dequantise& d)
      : coder_(q),
        origin_(broadcast(to_whole + (d.zero - q.zero))),
        of_no_number_(broadcast(-d.zero)),
        scale_(broadcast(d.scale)) {}
  TENON_INLINE vf of(vf x) const {
    return subtract_or(numbers_in(x), coder_.shifted(x), origin_, of_no_number_) * scale_;
  }

 private:
  Coder coder_;
  vf origin_, of_no_number_, scale_;
};

template <Residual residual>
TENON_INLINE vf residual_of(const Meaning& meaning, const void* row, long j, int lanes) {
  if constexpr (residual == Residual::f32) return load_lanes(static_cast<const float*>(row) + j, lanes);
  if constexpr (residual == Residual::u8)
    return meaning.of(numbers_of<false>(load_lanes(static_cast<const std::uint8_t*>(row) + j, lanes)));
  if constexpr (residual == Residual::i8)
    return meaning.of(numbers_of<true>(load_lanes(static_cast<const std::uint8_t*>(row) + j, lanes)));
  return vf{};
}

template <Activation::Kind kind, Residual residual, bool rounds, Result result>
[[gnu::noinline]] void finish(const CodedRows& how, const CodedTile& tile) {
  const CodedTile t = tile;  // what is written may not lie here
  const Activation activation = how.activation;
  const Rounder first(how.first, how.of_first), rounded(how.last, how.of_last);
  const Coder last(how.last);
  const Meaning of_residual(how.of_residual);
  const long residual_size = residual == Residual::f32 ? sizeof(float) : 1;
  for (long r = 0; r < t.rows; ++r) {
    float* const sums = t.sums + r * t.sums_stride;
    const void* const added = static_cast<const char*>(t.residual) + r * t.residual_stride * residual_size;
    std::uint8_t* const codes = t.codes + r * t.codes_stride;
    const auto finish_lanes = [&](long j, int lanes) __attribute__((always_inline)) {
      vf x = load_lanes(sums + j, lanes);
      if constexpr (rounds) x = first.of(x);
      if constexpr (residual != Residual::none) x = x + residual_of<residual>(of_residual, added, j, lanes);
      x = activate<kind>(activation, x);
      if constexpr (result == Result::codes)
        store_lanes(codes + j, lowest_bytes(last.code(x)), lanes);
      else if constexpr (result == Result::rounded)
        store_lanes(sums + j, rounded.of(x), lanes);
      else
        store_lanes(sums + j, x, lanes);
    };
    long j = 0;
    for (; j + VL <= t.cols; j += VL) finish_lanes(j, VL);
    if (j < t.cols) finish_lanes(j, static_cast<int>(t.cols - j));
  }
}

template <Result result>
[[gnu::noinline]] void finish_by_table(const CodedRows& how, const CodedTile& tile) {
  const CodedTile t = tile;
  const Coder first(how.first);
  const Meaning of_last(how.of_last);
  const ByteTable table(how.table.data());
  const int sign = how.of_signed ? 24 : 0;
  for (long r = 0; r < t.rows; ++r) {
    float* const sums = t.sums + r * t.sums_stride;
    std::uint8_t* const codes = t.codes + r * t.codes_stride;
    const auto finish_lanes = [&](long j, int lanes) __attribute__((always_inline)) {
      const vi code = table.at(first.code(load_lanes(sums + j, lanes)));
      if constexpr (result == Result::codes)
        store_lanes(codes + j, lowest_bytes(code), lanes);
      else
        store_lanes(sums + j, of_last.of((code << sign) >> sign), lanes);
    };
    long j = 0;
    for (; j + VL <= t.cols; j += VL) finish_lanes(j, VL);
    if (j < t.cols) finish_lanes(j, static_cast<int>(t.cols - j));
  }
}

using Run = void (*)(const CodedRows&, const CodedTile&);

template <Activation::Kind kind, Residual residual, bool rounds>
Run pick_result(Result result) {
  switch (result) {
    case Result::floats: return finish<kind, residual, rounds, Result::floats>;
    case Result::rounded: return finish<kind, residual, rounds, Result::rounded>;
    case Result::codes: return finish<kind, residual, rounds, Result::codes>;
  }
  return nullptr;
}
template <Activation::Kind kind, Residual residual>
Run pick_rounds(const CodedRows& how) {
  return how.rounds ? pick_result<kind, residual, true>(how.result)
                    : pick_result<kind, residual, false>(how.result);
}
template <Activation::Kind kind>
Run pick(const CodedRows& how) {
  if (!how.adds) return pick_rounds<kind, Residual::none>(how);
  switch (how.residual_type) {
    case DType::u8: return pick_rounds<kind, Residual::u8>(how);
    case DType::i8: return pick_rounds<kind, Residual::i8>(how);
    default: return pick_rounds<kind, Residual::f32>(how);
  }
}

}  // namespace

void finish_coded(const CodedRows& how, const CodedTile& tile) {
  using enum Activation::Kind;
  if (how.by_table)
    return (how.result == Result::codes ? finish_by_table<Result::codes>
                                        : finish_by_table<Result::rounded>)(how, tile);
  switch (how.activation.kind) {
    case none: return pick<none>(how)(how, tile);
    case hardswish: return pick<hardswish>(how)(how, tile);
    case hardsigmoid: return pick<hardsigmoid>(how)(how, tile);
    case leaky_relu: return pick<leaky_relu>(how)(how, tile);
    default: return pick<clamp>(how)(how, tile);  // the bounds of relu, too
  }
}

}  // namespace tenon::cpu::TENON_ISA
