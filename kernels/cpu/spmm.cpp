// Sorting edges by row, and sharing out the rows of a sparse product.
#include "kernels/cpu/spmm.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

using SpmmRows = void(const Spmm&, long begin, long end);
TENON_PER_ISA(SpmmRows, spmm_rows, spmm_rows)

namespace {

// The kernel prefetches this many entries ahead without looking where the row ends.
constexpr long entry_padding = 16;
constexpr long edges_per_part = 1 << 14;  // counting fewer than this in parallel gains nothing

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::size_t offsets_bytes(long rows) {
  return aligned(static_cast<std::size_t>(rows + 1) * sizeof(std::int32_t));
}

long first_of_part(long edges, long part, long parts) { return edges * part / parts; }

template <class Index>
long build(const Coo& coo, std::int32_t* offsets, Csr::Entry* entries, std::int32_t* counts, long parts,
           ThreadPool& pool) {
  const auto* const row = static_cast<const Index*>(coo.row);
  const auto* const col = static_cast<const Index*>(coo.col);
  const auto wrapped = [](long index, long size, bool from_end) {
    return index < 0 && from_end ? index + size : index;
  };
  const auto target = [&](long e) { return wrapped(row[e], coo.rows, coo.row_from_end); };
  const auto source = [&](long e) { return wrapped(col[e], coo.cols, coo.col_from_end); };
  std::atomic<long> bad{std::numeric_limits<long>::max()};
  pool.parallel_for(parts, [&](long part, int) {
    std::int32_t* const count = counts + part * coo.rows;
    std::memset(count, 0, static_cast<std::size_t>(coo.rows) * sizeof(std::int32_t));
    for (long e = first_of_part(coo.edges, part, parts); e < first_of_part(coo.edges, part + 1, parts); ++e) {
      const long r = target(e), c = source(e);
      if (r < 0 || r >= coo.rows || c < 0 || c >= coo.cols) {
        long seen = bad.load();
        while (e < seen && !bad.compare_exchange_weak(seen, e)) {}
        return;
      }
      ++count[r];
    }
  });
  if (bad.load() != std::numeric_limits<long>::max()) return bad.load();
  // From counts to the place where each part puts its next entry of each row.
  std::int32_t total = 0;
  for (long r = 0; r < coo.rows; ++r) {
    offsets[r] = total;
    for (long part = 0; part < parts; ++part) {
      std::int32_t& count = counts[part * coo.rows + r];
      const std::int32_t here = count;
      count = total;
      total += here;
    }
  }
  offsets[coo.rows] = total;
  pool.parallel_for(parts, [&](long part, int) {
    std::int32_t* const next = counts + part * coo.rows;
    for (long e = first_of_part(coo.edges, part, parts); e < first_of_part(coo.edges, part + 1, parts); ++e)
      entries[next[target(e)]++] = {static_cast<std::int32_t>(source(e)), coo.weight ? coo.weight[e] : 1.0f};
  });
  std::memset(static_cast<void*>(entries + coo.edges), 0, entry_padding * sizeof(Csr::Entry));
  return -1;
}

}  // namespace

std::size_t csr_bytes(long rows, long edges) {
  return offsets_bytes(rows) + aligned(static_cast<std::size_t>(edges + entry_padding) * sizeof(Csr::Entry));
}

std::size_t csr_scratch_bytes(long rows, int threads) {
  return static_cast<std::size_t>(threads) * static_cast<std::size_t>(rows) * sizeof(std::int32_t);
}

Csr csr_in(const void* memory, long rows) {
  const auto* const bytes = static_cast<const std::byte*>(memory);
  return {reinterpret_cast<const std::int32_t*>(bytes),
          reinterpret_cast<const Csr::Entry*>(bytes + offsets_bytes(rows)), rows};
}

long csr_from_coo(const Coo& coo, void* memory, void* scratch, ThreadPool& pool) {
  TENON_CHECK(coo.index_dtype == DType::i32 || coo.index_dtype == DType::i64);
  TENON_CHECK(std::max({coo.rows, coo.cols, coo.edges}) < std::numeric_limits<std::int32_t>::max());
  auto* const offsets = static_cast<std::int32_t*>(memory);
  auto* const entries =
      reinterpret_cast<Csr::Entry*>(static_cast<std::byte*>(memory) + offsets_bytes(coo.rows));
  auto* const counts = static_cast<std::int32_t*>(scratch);
  const long parts = std::clamp<long>(coo.edges / edges_per_part, 1, pool.threads());
  if (coo.index_dtype == DType::i32) return build<std::int32_t>(coo, offsets, entries, counts, parts, pool);
  return build<std::int64_t>(coo, offsets, entries, counts, parts, pool);
}

void spmm(const Spmm& s, ThreadPool& pool) {
  constexpr long rows_per_chunk = 64;
  pool.parallel_for((s.matrix.rows + rows_per_chunk - 1) / rows_per_chunk, [&](long chunk, int) {
    spmm_rows(s, chunk * rows_per_chunk, std::min(s.matrix.rows, (chunk + 1) * rows_per_chunk));
  });
}

}  // namespace tenon::cpu
