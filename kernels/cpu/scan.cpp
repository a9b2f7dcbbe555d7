#include "kernels/cpu/scan.h"

#include <algorithm>

#include "base/error.h"

namespace tenon::cpu {

void scan(const Scan& s, ThreadPool& pool) {
  if (s.outer * s.length * s.inner == 0) return;
  TENON_CHECK(can_scan(s.dtype));
  if (s.inner == 1) {
    constexpr long lines = 32;
    return pool.parallel_for((s.outer + lines - 1) / lines, [&](long chunk, int) {
      const long first = chunk * lines;
      scan_part(s, {first * s.length, std::min(lines, s.outer - first)});
    });
  }
  const long parts = (s.inner + scan_columns_at_once - 1) / scan_columns_at_once;
  pool.parallel_for(s.outer * parts, [&](long chunk, int) {
    const long column = chunk % parts * scan_columns_at_once;
    scan_part(
        s, {chunk / parts * s.length * s.inner + column, std::min(scan_columns_at_once, s.inner - column)});
  });
}

}  // namespace tenon::cpu
