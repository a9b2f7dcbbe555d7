#include "kernels/cpu/search.h"

#include <algorithm>

namespace tenon::cpu {

void search_rows(const SearchRow& first, long rows, ThreadPool& pool) {
  constexpr long most = 4096;  // values of a chunk
  const long parts = std::max(1L, (first.count + most - 1) / most);
  const auto size = static_cast<long>(size_of(first.dtype));
  pool.parallel_for(rows * parts, [&](long chunk, int) {
    const long line = chunk / parts, from = first.count * (chunk % parts) / parts,
               to = first.count * (chunk % parts + 1) / parts;
    SearchRow s = first;
    s.row = static_cast<const std::byte*>(first.row) + line * first.length * size;
    s.values = static_cast<const std::byte*>(first.values) + (line * first.count + from) * size;
    s.places = first.places + line * first.count + from;
    s.count = to - from;
    search_row(s);
  });
}

}  // namespace tenon::cpu
