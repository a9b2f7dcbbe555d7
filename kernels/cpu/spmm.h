// Sparse times dense: the aggregation of graph networks, out[target] += weight * x[source] over the edges.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// One end of all edges, in any order; several edges may join the same pair.
struct EdgeEnds {
  const void* data = nullptr;
  DType dtype = DType::i64;  // or i32
  long range = 0;            // ends lie in [0, range)
  bool from_end = false;     // or in [-range, range): negative ones count from the end
};

struct Edges {
  long count = 0;
  EdgeEnds targets;
  EdgeEnds sources;                // no data: edge i comes from i
  const float* weights = nullptr;  // one for each edge, which the entries then hold; null: they hold numbers
};

/// The edges by target: entries offsets[r] .. offsets[r + 1) are those that end in r, in the order they came
/// in.
struct SortedEdges {
  struct Entry {
    std::int32_t source;
    union {
      std::int32_t edge;  // its number in the order they came in
      float weight;
    };
  };
  const std::int32_t* offsets = nullptr;
  const Entry* entries = nullptr;
  long rows = 0;
};

/// Bytes of 64-byte aligned memory that hold sorted edges, and of scratch that sorting takes.
std::size_t sorted_edges_bytes(long rows, long edges);
std::size_t sort_scratch_bytes(long rows, int threads);
/// What sort_edges left in this memory.
SortedEdges sorted_edges_in(const void* memory, long rows);

/// Sorts the edges by target (a stable counting sort; ranges and count < 2^31). Returns -1, or the number of
/// the first edge with an end out of range, and then leaves no edges in any row. The result does not depend
/// on the number of threads.
long sort_edges(const Edges& edges, void* memory, void* scratch, ThreadPool& pool);

/// out[r][0 .. features) = sum over the edges that end in r of weight * x[source][0 .. features). Strides
/// count floats. Each sum is taken in the order of the edges.
struct Spmm {
  SortedEdges edges;
  long features = 0;
  const float* x = nullptr;
  long x_stride = 0;
  /// weights[edge][group]: the features are cut into `groups` equal runs. Null: 1, or what the entries hold.
  const float* weights = nullptr;
  long weights_stride = 0;
  long groups = 1;
  bool entries_hold_weights = false;
  float* out = nullptr;
  long out_stride = 0;
};
void spmm(const Spmm& product, ThreadPool& pool);

}  // namespace tenon::cpu
