// Running folds: a few lines or columns side by side, because each step waits for the one before.
#include "kernels/cpu/scan.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"

namespace tenon::cpu {
namespace {

constexpr long lines_at_once = 4, columns_at_once = 64;

/// What is folded in: double, or unsigned integers, which wrap around.
template <class T>
using Wide =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;

template <class T, bool Multiplies>
Wide<T> joined(Wide<T> a, T b) {
  return Multiplies ? a * static_cast<Wide<T>>(b) : a + static_cast<Wide<T>>(b);
}

template <class T, bool Multiplies, long Lines>
void scan_lines(const T* x, T* y, long length) {
  Wide<T> run[Lines];
  for (long l = 0; l < Lines; ++l)
    y[l * length] = x[l * length], run[l] = static_cast<Wide<T>>(x[l * length]);
  for (long i = 1; i < length; ++i)
    for (long l = 0; l < Lines; ++l)
      y[l * length + i] = static_cast<T>(run[l] = joined<T, Multiplies>(run[l], x[l * length + i]));
}

template <class T, bool Multiplies>
void scan_columns(const T* x, T* y, long length, long inner, long columns) {
  Wide<T> run[columns_at_once];
  for (long c = 0; c < columns; ++c) y[c] = x[c], run[c] = static_cast<Wide<T>>(x[c]);
  for (long i = 1; i < length; ++i) {
    const T* const from = x + i * inner;
    T* const to = y + i * inner;
    for (long c = 0; c < columns; ++c)
      to[c] = static_cast<T>(run[c] = joined<T, Multiplies>(run[c], from[c]));
  }
}

template <class T, bool Multiplies>
void scan_all(const Scan& s, ThreadPool& pool) {
  const auto* const x = static_cast<const T*>(s.x);
  auto* const y = static_cast<T*>(s.y);
  if (s.inner == 1) {
    pool.parallel_for((s.outer + lines_at_once - 1) / lines_at_once, [&](long chunk, int) {
      const long first = chunk * lines_at_once, at = first * s.length;
      if (first + lines_at_once <= s.outer)
        return scan_lines<T, Multiplies, lines_at_once>(x + at, y + at, s.length);
      for (long l = first; l < s.outer; ++l)
        scan_lines<T, Multiplies, 1>(x + l * s.length, y + l * s.length, s.length);
    });
    return;
  }
  const long parts = (s.inner + columns_at_once - 1) / columns_at_once;
  pool.parallel_for(s.outer * parts, [&](long chunk, int) {
    const long column = chunk % parts * columns_at_once, at = chunk / parts * s.length * s.inner + column;
    scan_columns<T, Multiplies>(x + at, y + at, s.length, s.inner,
                                std::min(columns_at_once, s.inner - column));
  });
}

template <class T>
void scan_of(const Scan& s, ThreadPool& pool) {
  s.multiplies ? scan_all<T, true>(s, pool) : scan_all<T, false>(s, pool);
}

}  // namespace

void scan(const Scan& s, ThreadPool& pool) {
  if (s.outer * s.length * s.inner == 0) return;
  switch (s.dtype) {
    case DType::f32: return scan_of<float>(s, pool);
    case DType::f64: return scan_of<double>(s, pool);
    case DType::i32: return scan_of<std::int32_t>(s, pool);
    case DType::i64: return scan_of<std::int64_t>(s, pool);
    default: TENON_CHECK(false);
  }
}

}  // namespace tenon::cpu
