// Sorting edges by target, and sharing out the rows of a sparse product.
#include "kernels/cpu/spmm.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "kernels/cpu/first_bad.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

using SpmmRows = void(const Spmm&, long begin, long end);
TENON_PER_ISA(SpmmRows, spmm_rows, spmm_rows)

namespace {

// The kernel prefetches this many entries ahead without looking where the row ends.
constexpr long entry_padding = 16;
constexpr long edges_per_part = 1 << 14;  // sorting fewer than this in parallel gains nothing

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::size_t offsets_bytes(long rows) {
  return aligned(static_cast<std::size_t>(rows + 1) * sizeof(std::int32_t));
}
SortedEdges::Entry* entries_in(void* memory, long rows) {
  return reinterpret_cast<SortedEdges::Entry*>(static_cast<std::byte*>(memory) + offsets_bytes(rows));
}

/// The edges in parts of the same size.
struct Parts {
  Parts(long edges_, int threads)
      : edges(edges_), count(std::clamp<long>(edges / edges_per_part, 1, threads)) {}
  long first(long part) const { return edges * part / count; }
  long edges, count;
};

/// The ends of edges as an array of T.
template <class T>
class Ends {
 public:
  explicit Ends(const EdgeEnds& ends)
      : data_(static_cast<const T*>(ends.data)), range_(ends.range), from_end_(ends.from_end) {}
  long operator[](long edge) const {
    const long end = data_[edge];
    return end < 0 && from_end_ ? end + range_ : end;
  }
  bool fits(long end) const { return end >= 0 && end < range_; }

 private:
  const T* data_;
  long range_;
  bool from_end_;
};

/// Each edge comes from its own number.
struct OwnNumber {
  long operator[](long edge) const { return edge; }
  bool fits(long) const { return true; }
};

template <class F>
long with_ends(const EdgeEnds& ends, F&& call) {
  TENON_CHECK(ends.dtype == DType::i32 || ends.dtype == DType::i64);
  TENON_CHECK(ends.range < std::numeric_limits<std::int32_t>::max());
  return ends.dtype == DType::i32 ? call(Ends<std::int32_t>(ends)) : call(Ends<std::int64_t>(ends));
}

/// How many edges each part has for each row, from `counts[part * rows]` on. Returns -1, or the first edge
/// out of range.
template <class Targets, class Sources>
long count_targets(const Targets& target, const Sources& source, const Parts& parts, long rows,
                   std::int32_t* counts, ThreadPool& pool) {
  FirstBad bad;
  pool.parallel_for(parts.count, [&](long part, int) {
    std::int32_t* const count = counts + part * rows;
    std::memset(count, 0, static_cast<std::size_t>(rows) * sizeof(std::int32_t));
    for (long e = parts.first(part); e < parts.first(part + 1); ++e) {
      const long r = target[e];
      if (!target.fits(r) || !source.fits(source[e])) return bad.report(e);
      ++count[r];
    }
  });
  return bad.result();
}

/// From counts to the place where each part puts its next edge of each row.
void begin_rows(std::int32_t* counts, const Parts& parts, long rows, std::int32_t* offsets) {
  std::int32_t total = 0;
  for (long r = 0; r < rows; ++r) {
    offsets[r] = total;
    for (long part = 0; part < parts.count; ++part) {
      std::int32_t& count = counts[part * rows + r];
      const std::int32_t here = count;
      count = total;
      total += here;
    }
  }
  offsets[rows] = total;
}

}  // namespace

std::size_t sorted_edges_bytes(long rows, long edges) {
  return offsets_bytes(rows) +
         aligned(static_cast<std::size_t>(edges + entry_padding) * sizeof(SortedEdges::Entry));
}

std::size_t sort_scratch_bytes(long rows, int threads) {
  return static_cast<std::size_t>(threads) * static_cast<std::size_t>(rows) * sizeof(std::int32_t);
}

SortedEdges sorted_edges_in(const void* memory, long rows) {
  return {static_cast<const std::int32_t*>(memory), entries_in(const_cast<void*>(memory), rows), rows};
}

long sort_edges(const Edges& edges, void* memory, void* scratch, ThreadPool& pool) {
  TENON_CHECK(edges.count < std::numeric_limits<std::int32_t>::max());
  const long rows = edges.targets.range;
  SortedEdges::Entry* const entries = entries_in(memory, rows);
  auto* const counts = static_cast<std::int32_t*>(scratch);
  const Parts parts(edges.count, pool.threads());
  const auto entry = [&](long source, long edge) {
    SortedEdges::Entry made{static_cast<std::int32_t>(source), {static_cast<std::int32_t>(edge)}};
    if (edges.weights) made.weight = edges.weights[edge];
    return made;
  };
  const auto sort = [&](const auto& target, const auto& source) {
    const long bad = count_targets(target, source, parts, rows, counts, pool);
    if (bad >= 0) {
      std::memset(memory, 0, sorted_edges_bytes(rows, edges.count));
      return bad;
    }
    begin_rows(counts, parts, rows, static_cast<std::int32_t*>(memory));
    pool.parallel_for(parts.count, [&](long part, int) {
      std::int32_t* const next = counts + part * rows;
      for (long e = parts.first(part); e < parts.first(part + 1); ++e)
        entries[next[target[e]]++] = entry(source[e], e);
    });
    std::fill_n(entries + edges.count, entry_padding, SortedEdges::Entry{});
    return bad;
  };
  return with_ends(edges.targets, [&](const auto& target) {
    if (!edges.sources.data) return sort(target, OwnNumber());
    return with_ends(edges.sources, [&](const auto& source) { return sort(target, source); });
  });
}

void spmm(const Spmm& s, ThreadPool& pool) {
  constexpr long rows_per_chunk = 64;
  TENON_CHECK(s.groups > 0 && s.features % s.groups == 0);
  TENON_CHECK(!s.entries_hold_weights || !s.weights);
  pool.parallel_for((s.edges.rows + rows_per_chunk - 1) / rows_per_chunk, [&](long chunk, int) {
    spmm_rows(s, chunk * rows_per_chunk, std::min(s.edges.rows, (chunk + 1) * rows_per_chunk));
  });
}

}  // namespace tenon::cpu
