// Built once per ISA: plain loops, which the compiler turns into vector code.
#include "kernels/cpu/sort_keys.h"

#include <type_traits>

#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// NaN is the largest, and -0 equals 0.
template <class Key, class T>
TENON_INLINE Key key_of_float(T x) {
  const Key bits = __builtin_bit_cast(Key, x + T(0));
  constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1);
  const Key ordered = bits & sign ? ~bits : bits | sign;
  return x != x ? ~Key(0) : ordered;
}
TENON_INLINE float float_of(Half h) {
  const std::uint32_t magnitude = h.bits & 0x7fffu, sign = (h.bits & 0x8000u) << 16;
  const float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
  const std::uint32_t special = magnitude << 13 | 0x7f800000u;
  return __builtin_bit_cast(
      float, sign | (magnitude >= 0x7c00u ? special : __builtin_bit_cast(std::uint32_t, scaled)));
}
TENON_INLINE float float_of(BFloat16 h) { return __builtin_bit_cast(float, std::uint32_t{h.bits} << 16); }

template <int Mantissa, int Bias, Float8Specials Specials>
TENON_INLINE float float_of(Float8<Mantissa, Bias, Specials> x) {
  return x;
}

template <class T>
TENON_INLINE auto key_of(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return key_of_float<std::uint32_t>(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return key_of_float<std::uint64_t>(x);
  } else if constexpr (is_small_float_element<T>) {
    return key_of_float<std::uint32_t>(float_of(x));
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<std::uint64_t>(x) ^ (std::is_signed_v<T> ? std::uint64_t{1} << 63 : 0);
  } else {
    return static_cast<std::uint32_t>(x) ^ (std::is_signed_v<T> ? std::uint32_t{1} << 31 : 0);
  }
}

template <class T>
void write_keys(const T* x, bool descending, long n, void* to) {
  using Key = decltype(key_of(T{}));
  auto* keys = static_cast<Key*>(to);
  const Key flip = descending ? ~Key(0) : 0;
  for (long i = 0; i < n; ++i) keys[i] = key_of(x[i]) ^ flip;
}

template <class Key>
TENON_INLINE Key smaller(Key a, Key b) {
  return a < b ? a : b;
}

template <class Key>
TENON_INLINE Key least_of(const Key* keys, long n) {
  constexpr long lanes =
      4 * VL * 4 / sizeof(Key);  // of four vectors, since each step waits for the one before
  Key least = keys[0];
  long i = 0;
  if (n >= lanes) {
    Key least_of_lane[lanes];
    for (long l = 0; l < lanes; ++l) least_of_lane[l] = keys[l];
    for (i = lanes; i + lanes <= n; i += lanes)
      for (long l = 0; l < lanes; ++l) least_of_lane[l] = smaller(least_of_lane[l], keys[i + l]);
    for (long l = 0; l < lanes; ++l) least = smaller(least, least_of_lane[l]);
  }
  for (; i < n; ++i) least = smaller(least, keys[i]);
  return least;
}

template <class Key>
TENON_INLINE Key least_of_block(const Key* keys) {
  Key least = keys[0];
  for (long i = 1; i < keys_of_block; ++i) least = smaller(least, keys[i]);
  return least;
}
/// Bit i: whether key i of a block is this one.
template <class Key>
TENON_INLINE std::uint32_t equal_bits(const Key* keys, Key key) {
  std::uint32_t bits = 0;
#if defined(__AVX512F__)
  constexpr int step = 64 / sizeof(Key);
  TENON_UNROLL
  for (int i = 0; i < keys_of_block; i += step) {
    const __m512i v = _mm512_loadu_si512(keys + i);
    if constexpr (sizeof(Key) == 4)
      bits |= std::uint32_t{_mm512_cmpeq_epi32_mask(v, _mm512_set1_epi32(static_cast<int>(key)))} << i;
    else
      bits |= std::uint32_t{_mm512_cmpeq_epi64_mask(v, _mm512_set1_epi64(static_cast<long long>(key)))} << i;
  }
#else
  alignas(32) std::uint8_t flags[keys_of_block];
  for (long i = 0; i < keys_of_block; ++i) flags[i] = keys[i] == key ? 0xff : 0;
#if defined(__SSE2__)
  for (int i = 0; i < keys_of_block; i += 16) {
    const __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(flags + i));
    bits |= static_cast<std::uint32_t>(_mm_movemask_epi8(v)) << i;
  }
#else
  for (long i = 0; i < keys_of_block; ++i) bits |= std::uint32_t{flags[i] & 1u} << i;
#endif
#endif
  return bits;
}
template <class Key>
TENON_INLINE long place_in_block(const Key* keys, Key key) {
  return __builtin_ctz(equal_bits(keys, key));
}

/// Fills the last block of n keys up with the largest key.
template <class Key>
TENON_INLINE void fill_up(Key* keys, long n) {
  for (long i = n; i < blocks_of(n) * keys_of_block; ++i) keys[i] = ~Key(0);
}

/// Keys, above them the least of each block of those, and so on until there is one block: a tree, but of at
/// most three levels.
template <class Key>
struct Levels {
  static constexpr int most = 3;
  Key* at[most];
  int count = 1;
  long top_blocks;

  TENON_INLINE Levels(Key* keys, long n) : at{keys}, top_blocks(blocks_of(n)) {
    fill_up(keys, n);
    for (; count < most && top_blocks > 1; ++count) {
      const Key* const below = at[count - 1];
      Key* const level = at[count] = at[count - 1] + top_blocks * keys_of_block;
      for (long b = 0; b < top_blocks; ++b) level[b] = least_of_block(below + b * keys_of_block);
      fill_up(level, top_blocks);
      top_blocks = blocks_of(top_blocks);
    }
  }

  TENON_INLINE Key least() const {
    const Key* const top = at[count - 1];
    return top_blocks == 1 ? least_of_block(top) : least_of(top, top_blocks * keys_of_block);
  }
  TENON_INLINE long place_of(Key least) const {
    long place = 0;
    if (top_blocks > 1)
      while (least_of_block(at[count - 1] + place * keys_of_block) != least) ++place;
    for (int level = count; level-- > 0;)
      place = place * keys_of_block + place_in_block(at[level] + place * keys_of_block, least);
    return place;
  }
  /// The key there becomes the largest.
  TENON_INLINE void take(long place) {
    at[0][place] = ~Key(0);
    for (int level = 1; level < count; ++level) {
      place /= keys_of_block;
      at[level][place] = least_of_block(at[level - 1] + place * keys_of_block);
    }
  }
};

/// The least of some blocks' keys that is not below another one; where there is none, the largest key.
template <class Key>
TENON_INLINE Key least_from(Key bound, const Key* keys, long blocks) {
  using L = Lanes<Key>;
  using V = typename L::V;
  const V from = bound - V{};
  V least = ~V{};
  for (long i = 0; i < blocks * keys_of_block; i += L::count) {
    const V key = L::load(keys + i), allowed = key >= from ? key : ~V{};
    least = allowed < least ? allowed : least;
  }
  Key lanes[L::count];
  L::store(lanes, least);
  TENON_UNROLL
  for (long half = L::count / 2; half > 0; half /= 2) {
    TENON_UNROLL
    for (long i = 0; i < half; i++) lanes[i] = smaller(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

/// Of a few blocks: each key is looked for in all of them, and none is written, for which the next one would
/// wait.
template <class Key>
long first_keys_of_few(Key* keys, long n, long k, std::int64_t* places) {
  fill_up(keys, n);
  const long blocks = blocks_of(n);
  Key bound = 0;
  for (long found = 0; found < k; ++bound) {
    bound = least_from(bound, keys, blocks);
    if (bound == ~Key(0)) return found;
    for (long b = 0; b < blocks; ++b)
      for (std::uint32_t equal = equal_bits(keys + b * keys_of_block, bound); equal && found < k;
           equal &= equal - 1)
        places[found++] = b * keys_of_block + __builtin_ctz(equal);
  }
  return k;
}

template <class Key>
long first_keys(Key* keys, long n, long k, std::int64_t* places) {
  constexpr long few = 8;
  if (blocks_of(n) <= few) return first_keys_of_few(keys, n, k, places);
  Levels<Key> levels(keys, n);
  for (long found = 0; found < k; ++found) {
    const Key least = levels.least();
    if (least == ~Key(0)) return found;
    places[found] = levels.place_of(least);
    levels.take(places[found]);
  }
  return k;
}

}  // namespace

void sort_keys(const void* x, DType dtype, bool descending, long n, void* keys) {
  if (is_bool(dtype)) dtype = DType::u8;
  dispatch_real(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) write_keys(static_cast<const T*>(x), descending, n, keys);
  });
}
std::uint32_t least_key_32(const std::uint32_t* keys, long n) { return least_of(keys, n); }
std::uint64_t least_key_64(const std::uint64_t* keys, long n) { return least_of(keys, n); }
long first_keys_32(std::uint32_t* keys, long n, long k, std::int64_t* places) {
  return first_keys(keys, n, k, places);
}
long first_keys_64(std::uint64_t* keys, long n, long k, std::int64_t* places) {
  return first_keys(keys, n, k, places);
}

}  // namespace tenon::cpu::TENON_ISA
