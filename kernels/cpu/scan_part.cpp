// Running folds: a few lines or columns side by side, because each step waits for the one before. Plain
// loops, which the compiler turns into vector code. Built once per ISA.
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/math_double.h"
#include "kernels/cpu/scan.h"
#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// What is folded in: double, or unsigned integers, which wrap around.
template <class T>
using Wide =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;

struct Plus {
  static constexpr long lines_at_once = 4;
  template <class W>
  static TENON_INLINE W join(W a, W b) {
    return a + b;
  }
};
struct Times {
  static constexpr long lines_at_once = 4;
  template <class W>
  static TENON_INLINE W join(W a, W b) {
    return a * b;
  }
};
/// Of bools.
struct Either {
  static constexpr long lines_at_once = 4;
  static TENON_INLINE std::uint8_t join(std::uint8_t a, std::uint8_t b) { return a | b; }
};
struct Both {
  static constexpr long lines_at_once = 4;
  static TENON_INLINE std::uint8_t join(std::uint8_t a, std::uint8_t b) { return a & b; }
};
struct LogOfSum {
  static constexpr long lines_at_once = 2 * VL;
  static TENON_INLINE double join(double a, double b) {
    const double high = a > b ? a : b, low = a > b ? b : a;
    const double e = double_exp(low - high), one_more = 1 + e;
    const double log1p = double_log(one_more) + (e - (one_more - 1)) / one_more;  // what 1 + e lost
    const double sum = high + log1p;
    const double result = low == high && __builtin_fabs(high) == __builtin_inf() ? high : sum;
    return int(a == a) & int(b == b) ? result : a + b;
  }
};

template <class T, class Fold, long Lines>
void scan_lines(const T* x, T* y, long length) {
  Wide<T> run[Lines];
  for (long l = 0; l < Lines; ++l)
    y[l * length] = x[l * length], run[l] = static_cast<Wide<T>>(x[l * length]);
  for (long i = 1; i < length; ++i) {
    T next[Lines];  // y may be x: no loop reads one and writes the other
    for (long l = 0; l < Lines; ++l) next[l] = x[l * length + i];
    for (long l = 0; l < Lines; ++l) run[l] = Fold::join(run[l], static_cast<Wide<T>>(next[l]));
    for (long l = 0; l < Lines; ++l) y[l * length + i] = static_cast<T>(run[l]);
  }
}

template <int distance, class V, int... I>
TENON_INLINE V moved_up(V v, LaneList<I...>) {
  return __builtin_shufflevector(v, V{}, (I < distance ? static_cast<int>(sizeof...(I)) : I - distance)...);
}
template <class V, int... I>
TENON_INLINE V last_lane(V v, LaneList<I...>) {
  return __builtin_shufflevector(v, v, (I * 0 + static_cast<int>(sizeof...(I)) - 1)...);
}
template <int distance, class V, class Lanes>
TENON_INLINE V running_sums(V v, Lanes lanes) {
  if constexpr (distance * sizeof(v[0]) == sizeof(V))
    return v;
  else
    return running_sums<2 * distance>(v + moved_up<distance>(v, lanes), lanes);
}
/// Integers add up in any order: those of a vector by doubling, which waits for no vector before.
template <class T>
void sum_line(const T* x, T* y, long length) {
  using U = std::make_unsigned_t<T>;
  using Vectors = Lanes<U>;
  constexpr typename MakeLaneList<Vectors::count>::type lanes;
  const auto* const from = reinterpret_cast<const U*>(x);
  auto* const to = reinterpret_cast<U*>(y);
  typename Vectors::V before{};
  long i = 0;
  for (; i + Vectors::count <= length; i += Vectors::count) {
    const auto sums = running_sums<1>(Vectors::load(from + i), lanes);
    Vectors::store(to + i, sums + before);
    before += last_lane(sums, lanes);
  }
  for (U run = before[0]; i < length; ++i) to[i] = run += from[i];
}

template <class T, class Fold>
void scan_columns(const T* x, T* y, long length, long inner, long columns) {
  Wide<T> run[scan_columns_at_once];
  for (long c = 0; c < columns; ++c) y[c] = x[c], run[c] = static_cast<Wide<T>>(x[c]);
  for (long i = 1; i < length; ++i) {
    const T* const from = x + i * inner;
    T* const to = y + i * inner;
    for (long c = 0; c < columns; ++c)
      to[c] = static_cast<T>(run[c] = Fold::join(run[c], static_cast<Wide<T>>(from[c])));
  }
}

/// Does the extreme so far stay in front of the next element?
template <class T, bool Largest>
TENON_INLINE bool stays(T best, T next) {
  const bool in_front = Largest ? best > next : best < next;
  return int(in_front) | (int(best != best) & int(next == next));
}

/// Most blocks of a line hold nothing better than what was there before.
template <class T, bool Largest>
void extremes_of_line(const T* x, T* y, std::int64_t* places, long length) {
  constexpr long block = 32;
  T best = x[0];
  std::int64_t place = 0;
  const auto step = [&](long i) {
    if (!stays<T, Largest>(best, x[i])) best = x[i], place = i;
    y[i] = best;
    places[i] = place;
  };
  long i = 0;
  for (; i + block <= length; i += block) {
    int better = 0;
    for (long k = 0; k < block; ++k) better |= !stays<T, Largest>(best, x[i + k]);
    if (better) {
      for (long k = 0; k < block; ++k) step(i + k);
    } else {
      for (long k = 0; k < block; ++k) y[i + k] = best;
      for (long k = 0; k < block; ++k) places[i + k] = place;
    }
  }
  for (; i < length; ++i) step(i);
}

/// Integers are often equal to the best so far, whose place is then theirs: no branch foresees that.
template <class T, bool Largest, long Lines>
void extremes_of_lines(const T* x, T* y, std::int64_t* places, long length) {
  T best[Lines];
  std::int64_t place[Lines] = {};
  for (long l = 0; l < Lines; ++l) best[l] = x[l * length];
  for (long i = 0; i < length; ++i) {
    T next[Lines];  // y may be x
    for (long l = 0; l < Lines; ++l) next[l] = x[l * length + i];
    for (long l = 0; l < Lines; ++l) {
      const bool stay = stays<T, Largest>(best[l], next[l]);
      best[l] = stay ? best[l] : next[l];
      place[l] = stay ? place[l] : i;
    }
    for (long l = 0; l < Lines; ++l) y[l * length + i] = best[l];
    for (long l = 0; l < Lines; ++l) places[l * length + i] = place[l];
  }
}

template <class T, bool Largest>
void extremes_of_columns(const T* x, T* y, std::int64_t* places, long length, long inner, long columns) {
  T best[scan_columns_at_once];
  std::int64_t place[scan_columns_at_once] = {};
  std::copy_n(x, columns, best);
  for (long i = 0; i < length; ++i)
    for (long c = 0; c < columns; ++c) {
      const T next = x[i * inner + c];
      const bool stay = stays<T, Largest>(best[c], next);
      y[i * inner + c] = best[c] = stay ? best[c] : next;
      places[i * inner + c] = place[c] = stay ? place[c] : i;
    }
}

template <class T, class Fold>
void fold(const Scan& s, const ScanPart& part) {
  const auto* x = static_cast<const T*>(s.x) + part.at;
  auto* y = static_cast<T*>(s.y) + part.at;
  if (s.inner > 1) return scan_columns<T, Fold>(x, y, s.length, s.inner, part.count);
  long l = 0;
  if constexpr (std::is_integral_v<T> && sizeof(T) >= 4 && std::is_same_v<Fold, Plus> && VL >= 8)
    for (; l < part.count; ++l) sum_line(x + l * s.length, y + l * s.length, s.length);
  for (; l + Fold::lines_at_once <= part.count; l += Fold::lines_at_once)
    scan_lines<T, Fold, Fold::lines_at_once>(x + l * s.length, y + l * s.length, s.length);
  for (; l < part.count; ++l) scan_lines<T, Fold, 1>(x + l * s.length, y + l * s.length, s.length);
}

template <class T, bool Largest>
void extremes(const Scan& s, const ScanPart& part) {
  const auto* const x = static_cast<const T*>(s.x) + part.at;
  auto* const y = static_cast<T*>(s.y) + part.at;
  auto* const places = s.places + part.at;
  if (s.inner > 1) return extremes_of_columns<T, Largest>(x, y, places, s.length, s.inner, part.count);
  const auto run = [&](auto lines, long line) {
    lines(x + line * s.length, y + line * s.length, places + line * s.length, s.length);
  };
  long l = 0;
  if constexpr (std::is_integral_v<T>)
    for (; l + 2 <= part.count; l += 2) run(extremes_of_lines<T, Largest, 2>, l);
  for (; l < part.count; ++l) run(extremes_of_line<T, Largest>, l);
}

/// Integers of either sign wrap around alike.
template <class Fold>
void fold_numbers(const Scan& s, const ScanPart& part) {
  switch (s.dtype) {
    case DType::f64: return fold<double, Fold>(s, part);
    case DType::f32: return fold<float, Fold>(s, part);
    case DType::boolean:
      return fold<std::uint8_t, std::conditional_t<std::is_same_v<Fold, Plus>, Either, Both>>(s, part);
    default: break;
  }
  switch (size_of(s.dtype)) {
    case 1: return fold<std::uint8_t, Fold>(s, part);
    case 2: return fold<std::uint16_t, Fold>(s, part);
    case 4: return fold<std::uint32_t, Fold>(s, part);
    default: return fold<std::uint64_t, Fold>(s, part);
  }
}

template <bool Largest>
void extremes(const Scan& s, const ScanPart& part) {
  switch (s.dtype) {
    case DType::boolean:
    case DType::u8: return extremes<std::uint8_t, Largest>(s, part);
    case DType::i8: return extremes<std::int8_t, Largest>(s, part);
    case DType::u16: return extremes<std::uint16_t, Largest>(s, part);
    case DType::i16: return extremes<std::int16_t, Largest>(s, part);
    case DType::u32: return extremes<std::uint32_t, Largest>(s, part);
    case DType::i32: return extremes<std::int32_t, Largest>(s, part);
    case DType::u64: return extremes<std::uint64_t, Largest>(s, part);
    case DType::i64: return extremes<std::int64_t, Largest>(s, part);
    case DType::f64: return extremes<double, Largest>(s, part);
    default: return extremes<float, Largest>(s, part);
  }
}

}  // namespace

void scan_part(const Scan& s, const ScanPart& part) {
  switch (s.fold) {
    case Scan::Fold::sum: return fold_numbers<Plus>(s, part);
    case Scan::Fold::prod: return fold_numbers<Times>(s, part);
    case Scan::Fold::max: return extremes<true>(s, part);
    case Scan::Fold::min: return extremes<false>(s, part);
    case Scan::Fold::log_sum_exp:
      return s.dtype == DType::f64 ? fold<double, LogOfSum>(s, part) : fold<float, LogOfSum>(s, part);
  }
}

}  // namespace tenon::cpu::TENON_ISA
