// One sorted row: its elements are counted one by one where they are few, for several values at once, else
// the row is halved. Plain loops, which the compiler turns into vector code. Built once per ISA.
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/search.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Does the element of the row come before the value?
template <class T, bool Right>
TENON_INLINE bool is_before(T element, T value) {
  return Right ? !(element > value) : !(element >= value);  // all of them where the value is NaN
}

template <class T, bool Right>
void count_elements(const SearchRow& s) {
  using Number =
      std::conditional_t<sizeof(T) == 8, std::int64_t,
                         std::conditional_t<sizeof(T) == 4, std::int32_t,
                                            std::conditional_t<sizeof(T) == 2, std::int16_t, std::int8_t>>>;
  constexpr long block = 64;
  const auto* const row = static_cast<const T*>(s.row);
  const auto* const values = static_cast<const T*>(s.values);
  for (long first = 0; first < s.count; first += block) {
    const long n = std::min(block, s.count - first);
    T value[block] = {};
    Number before[block] = {};
    std::copy_n(values + first, n, value);
    for (long r = 0; r < s.length; r++) {
      const T element = row[r];
      for (long i = 0; i < block; i++) before[i] += is_before<T, Right>(element, value[i]);
    }
    for (long i = 0; i < n; i++) s.places[first + i] = before[i];
  }
}

template <class T, bool Right>
void halve(const SearchRow& s) {
  constexpr long at_once = 8;  // whose loads wait side by side
  const auto* const row = static_cast<const T*>(s.row);
  const auto* const values = static_cast<const T*>(s.values);
  for (long first = 0; first < s.count; first += at_once) {
    const long n = std::min(at_once, s.count - first);
    T value[at_once] = {};
    long begin[at_once] = {};
    std::copy_n(values + first, n, value);
    long rest = s.length;
    for (; rest > 1; rest -= rest / 2)
      for (long i = 0; i < at_once; i++)
        begin[i] += is_before<T, Right>(row[begin[i] + rest / 2 - 1], value[i]) ? rest / 2 : 0;
    for (long i = 0; i < n; i++)
      s.places[first + i] = begin[i] + (rest == 1 && is_before<T, Right>(row[begin[i]], value[i]));
  }
}

/// NaN comes before every value: elements in front of it do not.
template <class T, bool Right>
void halve_with_nan(const SearchRow& s) {
  const auto* const row = static_cast<const T*>(s.row);
  const auto* const values = static_cast<const T*>(s.values);
  for (long i = 0; i < s.count; i++) {
    long low = 0, high = s.length;
    while (low < high) {
      const long middle = low + (high - low) / 2;
      if (is_before<T, Right>(row[middle], values[i]))
        low = middle + 1;
      else
        high = middle;
    }
    s.places[i] = low;
  }
}

/// Each of the 256 bytes is searched once.
template <class T>
void look_up(const SearchRow& s) {
  constexpr long bytes = 256;
  T all[bytes];
  std::int64_t found[bytes];
  for (long i = 0; i < bytes; i++) all[i] = static_cast<T>(i);
  SearchRow once = s;
  once.values = all;
  once.count = bytes;
  once.places = found;
  s.right ? halve<T, true>(once) : halve<T, false>(once);
  const auto* const values = static_cast<const std::uint8_t*>(s.values);
  for (long i = 0; i < s.count; i++) s.places[i] = found[values[i]];
}

template <class T>
void search(const SearchRow& s) {
  constexpr long few = 64;  // which the number of elements before a value fits, whatever their type
  if constexpr (sizeof(T) == 1)
    if (s.length > few && s.count > 256) return look_up<T>(s);
  if (const T last = s.length > 0 ? static_cast<const T*>(s.row)[s.length - 1] : T(0); last != last)
    return s.right ? halve_with_nan<T, true>(s) : halve_with_nan<T, false>(s);
  if (s.length <= few) return s.right ? count_elements<T, true>(s) : count_elements<T, false>(s);
  s.right ? halve<T, true>(s) : halve<T, false>(s);
}

}  // namespace

void search_row(const SearchRow& s) {
  switch (s.dtype) {
    case DType::boolean:
    case DType::u8: return search<std::uint8_t>(s);
    case DType::i8: return search<std::int8_t>(s);
    case DType::u16: return search<std::uint16_t>(s);
    case DType::i16: return search<std::int16_t>(s);
    case DType::u32: return search<std::uint32_t>(s);
    case DType::i32: return search<std::int32_t>(s);
    case DType::u64: return search<std::uint64_t>(s);
    case DType::i64: return search<std::int64_t>(s);
    case DType::f64: return search<double>(s);
    default: return search<float>(s);
  }
}

}  // namespace tenon::cpu::TENON_ISA
