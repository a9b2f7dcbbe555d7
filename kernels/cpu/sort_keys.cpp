// Built once per ISA: plain loops, which the compiler turns into vector code.
#include "kernels/cpu/sort_keys.h"

#include <type_traits>

#include "kernels/cpu/simd.h"

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
template <class Key>
TENON_INLINE long place_in_block(const Key* keys, Key key) {
  Key place = keys_of_block;
  for (long i = 0; i < keys_of_block; ++i)
    place = smaller(place, keys[i] == key ? static_cast<Key>(i) : Key{keys_of_block});
  return static_cast<long>(place);
}
/// Writes the least of each block behind the blocks, which are filled up with the largest key.
template <class Key>
TENON_INLINE Key* add_level(Key* keys, long n) {
  const long blocks = blocks_of(n);
  for (long i = n; i < blocks * keys_of_block; ++i) keys[i] = ~Key(0);
  Key* const level = keys + blocks * keys_of_block;
  for (long b = 0; b < blocks; ++b) level[b] = least_of_block(keys + b * keys_of_block);
  return level;
}

/// A key that was found becomes the largest.
template <class Key>
long first_keys(Key* keys, long n, long k, std::int64_t* places) {
  const long lower = blocks_of(n), upper = blocks_of(lower), top = blocks_of(upper);
  Key *const blocks = add_level(keys, n), *const groups = add_level(blocks, lower);
  for (long i = upper; i < top * keys_of_block; ++i) groups[i] = ~Key(0);
  for (long found = 0; found < k; ++found) {
    const Key least = least_of(groups, top * keys_of_block);
    if (least == ~Key(0)) return found;
    const auto descend = [&](const Key* level, long block) {
      return block * keys_of_block + place_in_block(level + block * keys_of_block, least);
    };
    long at = 0;
    while (least_of_block(groups + at * keys_of_block) != least) ++at;
    const long group = descend(groups, at), block = descend(blocks, group), place = descend(keys, block);
    places[found] = place;
    keys[place] = ~Key(0);
    blocks[block] = least_of_block(keys + block * keys_of_block);
    groups[group] = least_of_block(blocks + group * keys_of_block);
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
