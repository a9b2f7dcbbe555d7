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
  constexpr long fewest = 64;  // columns: shorter pieces of rows take memory longer
  const long share = s.outer * s.inner / pool.threads() / fewest * fewest;
  const long width = std::clamp(share, fewest, scan_columns_at_once), parts = (s.inner + width - 1) / width;
  pool.parallel_for(s.outer * parts, [&](long chunk, int) {
    const long column = chunk % parts * width;
    scan_part(s, {chunk / parts * s.length * s.inner + column, std::min(width, s.inner - column)});
  });
}

}  // namespace tenon::cpu
