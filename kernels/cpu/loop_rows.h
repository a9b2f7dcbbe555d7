// Loops over the rows of a tile on vectors: what a loop of any number of operands, which lie as vectors or
// are one value a row, is made of. For sources that are built once per ISA.
#pragma once
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/simd_bytes.h"
#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// How numbers lie in a row: as they are.
template <class T>
struct NumbersOf {
  using Element = T;
  using Value = T;  // of one for all columns
  using Vector = typename Lanes<T>::V;
  static constexpr long count = Lanes<T>::count;
  static TENON_INLINE Vector broadcast(T x) { return x - Vector{}; }
  static TENON_INLINE Vector get(const T* p) { return Lanes<T>::load(p); }
  static TENON_INLINE Vector get(const T* p, int n) { return Lanes<T>::load_first(p, n); }
  static TENON_INLINE void put(T* p, Vector v) { Lanes<T>::store(p, v); }
  static TENON_INLINE void put(T* p, Vector v, int n) { Lanes<T>::store_first(p, v, n); }
};

using Floats = NumbersOf<float>;

/// As many bytes as a vector has lanes of this size.
template <std::size_t size>
struct BytesBeside;
template <>
struct BytesBeside<4> {
  typedef std::uint8_t V __attribute__((vector_size(VL)));
  typedef std::uint8_t Unaligned __attribute__((vector_size(VL), aligned(1), may_alias));
};
template <>
struct BytesBeside<8> {
  typedef std::uint8_t V __attribute__((vector_size(VL / 2)));
  typedef std::uint8_t Unaligned __attribute__((vector_size(VL / 2), aligned(1), may_alias));
};

/// Bools beside numbers of type T: the lanes of a test of T are 0 or -1.
template <class T>
struct Truths {
  using Element = std::uint8_t;
  using Value = std::uint8_t;
  using Vector = decltype(typename Lanes<T>::V{} < typename Lanes<T>::V{});
  static constexpr long count = Lanes<T>::count;
  using Bytes = typename BytesBeside<sizeof(T)>::V;
  using Unaligned = typename BytesBeside<sizeof(T)>::Unaligned;
  static TENON_INLINE Vector broadcast(Element x) { return Vector{} - (x != 0 ? 1 : 0); }
  static TENON_INLINE Vector get(const Element* p) {
    return lengthened(*reinterpret_cast<const Unaligned*>(p)) > 0;
  }
  static TENON_INLINE Vector get(const Element* p, int n) {
    const vb first = load_partial(p, n);
    Bytes bytes;
    std::memcpy(&bytes, &first, sizeof bytes);
    return lengthened(bytes) > 0;
  }
  static TENON_INLINE void put(Element* p, Vector lanes) {
    *reinterpret_cast<Unaligned*>(p) = shortened(lanes) & 1;
  }
  static TENON_INLINE void put(Element* p, Vector lanes, int n) {
    const Bytes bytes = shortened(lanes) & 1;
    vb all{};
    std::memcpy(&all, &bytes, sizeof bytes);
    store_partial(p, all, n);
  }

 private:
  // g++ 12 moves the bytes of these conversions one by one.
  static TENON_INLINE Vector lengthened(Bytes bytes) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
      return reinterpret_cast<Vector>(_mm512_cvtepu8_epi32(__builtin_bit_cast(__m128i, bytes)));
    else
      return reinterpret_cast<Vector>(
          _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(__builtin_bit_cast(long long, bytes))));
#elif defined(__AVX2__) && TENON_VL == 8
    if constexpr (sizeof(T) == 4)
      return reinterpret_cast<Vector>(
          _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(long long, bytes))));
    else
      return reinterpret_cast<Vector>(
          _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(__builtin_bit_cast(int, bytes))));
#else
    return __builtin_convertvector(bytes, Vector);
#endif
  }
  /// Of lanes that are 0 or -1.
  static TENON_INLINE Bytes shortened(Vector lanes) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
      return __builtin_bit_cast(Bytes, _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(lanes)));
    else
      return __builtin_bit_cast(Bytes,
                                _mm_cvtsi128_si64(_mm512_cvtepi64_epi8(reinterpret_cast<__m512i>(lanes))));
#elif defined(__AVX2__) && TENON_VL == 8
    const auto all = reinterpret_cast<__m256i>(lanes);
    const __m128i low = _mm256_castsi256_si128(all), high = _mm256_extracti128_si256(all, 1);
    // Lanes of 8 bytes are pairs of equal ones of 4.
    const __m128i halves = _mm_packs_epi32(low, high), packed = _mm_packs_epi16(halves, halves);
    if constexpr (sizeof(T) == 4)
      return __builtin_bit_cast(Bytes, _mm_cvtsi128_si64(packed));
    else
      return __builtin_bit_cast(Bytes, _mm_cvtsi128_si32(_mm_packs_epi16(packed, packed)));
#else
    return __builtin_convertvector(lanes, Bytes);
#endif
  }
};

/// One row of an input: its values, or one for all columns.
template <class Numbers, bool Splat>
struct Row {
  using Element = std::conditional_t<Splat, typename Numbers::Value, typename Numbers::Element>;
  Row(const OpArgs& args, int i, long r)
      : data(static_cast<const Element*>(args.in[i]) + r * args.in_pitch[i]) {
    if constexpr (Splat) value = Numbers::broadcast(*data);
  }
  TENON_INLINE typename Numbers::Vector at(long c) const {
    if constexpr (Splat)
      return value;
    else
      return Numbers::get(data + c);
  }
  TENON_INLINE typename Numbers::Vector part(long c, int n) const {
    if constexpr (Splat)
      return value;
    else
      return Numbers::get(data + c, n);
  }

  const Element* data;
  typename Numbers::Vector value{};
};

template <class F, class Out, class... Rows>
TENON_INLINE void row_loop(const OpArgs& args, long r, Rows... in) {
  auto* const out = static_cast<typename Out::Element*>(args.out) + r * args.out_pitch;
  const long cols = args.cols;
  long c = 0;
  for (; c + Out::count <= cols; c += Out::count) Out::put(out + c, F::run(in.at(c)...));
  const int rest = static_cast<int>(cols - c);
  if (rest > 0) Out::put(out + c, F::run(in.part(c, rest)...), rest);
}

/// `Splats` says which of the first operands, each of its kind of In, are one value a row.
template <class F, class Out, class... In, bool... Splats>
void loop_of(const OpArgs& args, std::integer_sequence<bool, Splats...>) {
  constexpr std::size_t known = sizeof...(Splats);
  if constexpr (known < sizeof...(In)) {
    args.splat[known] ? loop_of<F, Out, In...>(args, std::integer_sequence<bool, Splats..., true>{})
                      : loop_of<F, Out, In...>(args, std::integer_sequence<bool, Splats..., false>{});
  } else {
    const OpArgs tile = args;  // what is written may not lie here
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      for (long r = 0; r < tile.rows; r++)
        row_loop<F, Out>(tile, r, Row<In, Splats>(tile, static_cast<int>(I), r)...);
    }
    (std::make_index_sequence<known>{});
  }
}
template <class F, class Numbers = Floats, class Out = Numbers>
void unary(const OpArgs& args) {
  loop_of<F, Out, Numbers>(args, std::integer_sequence<bool>{});
}
template <class F, class Numbers = Floats, class Out = Numbers>
void binary(const OpArgs& args) {
  loop_of<F, Out, Numbers, Numbers>(args, std::integer_sequence<bool>{});
}
template <class F, class Numbers = Floats, class First = Numbers>
void ternary(const OpArgs& args) {
  loop_of<F, Numbers, First, Numbers, Numbers>(args, std::integer_sequence<bool>{});
}
template <class F, class Numbers = Floats>
void quaternary(const OpArgs& args) {
  loop_of<F, Numbers, Numbers, Numbers, Numbers, Numbers>(args, std::integer_sequence<bool>{});
}

template <class F, class Numbers = Floats>
void quinary(const OpArgs& args) {
  loop_of<F, Numbers, Numbers, Numbers, Numbers, Numbers, Numbers>(args, std::integer_sequence<bool>{});
}

struct Select {
  template <class Mask, class V>
  static TENON_INLINE V run(Mask condition, V a, V b) {
    return condition ? a : b;
  }
};
// Selects by a test: c where it holds, else d.
struct SelectLt {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d) {
    return a < b ? c : d;
  }
};
struct SelectLe {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d) {
    return a <= b ? c : d;
  }
};
struct SelectEq {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d) {
    return a == b ? c : d;
  }
};

// Of floats: x x d where the test of x = |a - b| holds, else x - e.
struct HuberLt {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d, V e) {
    const V x = a < b ? b - a : a - b;
    return x < c ? x * x * d : x - e;
  }
};
struct HuberLe {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d, V e) {
    const V x = a < b ? b - a : a - b;
    return x <= c ? x * x * d : x - e;
  }
};
struct HuberMin {  // m (x - m d) of m = min(x, c)
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d) {
    const V x = a < b ? b - a : a - b;
    const V m = ((x < c) | (x != x)) ? x : c;
    return m * (x - m * d);
  }
};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
