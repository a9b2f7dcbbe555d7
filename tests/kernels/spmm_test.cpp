// The sparse product is the sum over edges, for sorted and unsorted edges, any width, and any number of
// threads.
#include "kernels/cpu/spmm.h"

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class SpmmOnIsa : public OnEveryIsa {};
TENON_EVERY_ISA(SpmmOnIsa);

template <class Index>
struct Graph {
  Graph(long rows_, long cols_, long edges, bool sorted) : rows(rows_), cols(cols_) {
    std::mt19937 random(5);
    for (long e = 0; e < edges; e++) {
      const long r = static_cast<long>(random()) % rows;
      row.push_back(static_cast<Index>(sorted ? e * rows / edges : r));
      col.push_back(static_cast<Index>(static_cast<long>(random()) % cols));
    }
  }
  Edges edges(bool with_sources = true) const {
    constexpr DType dtype = sizeof(Index) == 4 ? DType::i32 : DType::i64;
    Edges edges{.count = static_cast<long>(row.size()),
                .targets = {.data = row.data(), .dtype = dtype, .range = rows, .from_end = row_from_end}};
    if (with_sources)
      edges.sources = {.data = col.data(), .dtype = dtype, .range = cols, .from_end = col_from_end};
    return edges;
  }
  long rows, cols;
  std::vector<Index> row, col;
  bool row_from_end = false, col_from_end = false;
};

/// Memory of 64-byte aligned bytes.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes + 64) {}
  void* at() {
    void* at = bytes_.data();
    std::size_t space = bytes_.size();
    return std::align(64, 1, at, space);
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<float> numbers(long count) {
  std::mt19937 random(7);
  std::vector<float> values;
  for (long i = 0; i < count; i++) values.push_back(static_cast<float>(random() % 100) / 50 - 1);
  return values;
}

/// How the weights of a product lie.
struct WeightsLayout {
  long groups = 1;   // 0: there are none
  long padding = 0;  // between the weights of an edge and of the next
  bool in_entries = false;
};

template <class Index>
std::vector<float> run(const Graph<Index>& g, long features, int threads, WeightsLayout layout = {},
                       bool gathers = true) {
  ThreadPool pool(threads);
  const auto edges = static_cast<long>(g.row.size());
  Memory memory(sorted_edges_bytes(g.rows, edges)), scratch(sort_scratch_bytes(g.rows, threads));
  const long weights_stride = layout.groups + layout.padding;
  const std::vector<float> weights = numbers(edges * weights_stride);
  Edges list = g.edges(gathers);
  if (layout.in_entries) list.weights = weights.data();
  EXPECT_EQ(sort_edges(list, memory.at(), scratch.at(), pool), -1);
  const SortedEdges sorted = sorted_edges_in(memory.at(), g.rows);
  const std::vector<float> x = numbers((gathers ? g.cols : edges) * features);
  std::vector<float> out(static_cast<std::size_t>(g.rows * (features + 3)), -7.0f);
  spmm({.edges = sorted,
        .features = features,
        .x = x.data(),
        .x_stride = features,
        .weights = layout.groups && !layout.in_entries ? weights.data() : nullptr,
        .weights_stride = weights_stride,
        .groups = layout.groups ? layout.groups : 1,
        .entries_hold_weights = layout.in_entries,
        .out = out.data(),
        .out_stride = features + 3},
       pool);
  std::vector<double> expected(out.size(), -7.0);
  for (long r = 0; r < g.rows; r++)
    for (long f = 0; f < features; f++) expected[static_cast<std::size_t>(r * (features + 3) + f)] = 0;
  for (long e = 0; e < edges; e++) {
    const auto at = static_cast<std::size_t>(e);
    for (long f = 0; f < features; f++) {
      const long group = f * layout.groups / features;
      const float weight =
          layout.groups ? weights[static_cast<std::size_t>(e * weights_stride + group)] : 1.0f;
      const float of_source = x[static_cast<std::size_t>((gathers ? g.col[at] : e) * features + f)];
      expected[static_cast<std::size_t>(g.row[at] * (features + 3) + f)] +=
          static_cast<double>(weight) * static_cast<double>(of_source);
    }
  }
  for (std::size_t i = 0; i < out.size(); i++) {
    EXPECT_NEAR(static_cast<double>(out[i]), expected[i], 1e-4)
        << features << " features, " << layout.groups << " groups, at " << i;
    if (testing::Test::HasFailure()) break;
  }
  return out;
}

TEST_P(SpmmOnIsa, AnyWidthSortedAndNot) {
  for (const long features : {1, 7, 8, 16, 41, 64, 128, 200, 300}) {
    for (const bool sorted : {false, true}) run(Graph<std::int64_t>(50, 70, 400, sorted), features, 1);
  }
}

TEST_P(SpmmOnIsa, TheSameBitsForAnyNumberOfThreads) {
  const Graph<std::int32_t> g(500, 300, 100000, false);
  EXPECT_EQ(run(g, 20, 1), run(g, 20, 3));
}

TEST_P(SpmmOnIsa, NoEdges) { run(Graph<std::int64_t>(10, 10, 0, false), 9, 2); }

// A weight for the edge, for each head, for each feature, or none; heads of any width.
TEST_P(SpmmOnIsa, EveryLayoutOfWeights) {
  const Graph<std::int64_t> g(20, 30, 150, false);
  const std::array<std::pair<long, long>, 16> groups_and_features = {{{0, 1},
                                                                      {0, 41},
                                                                      {1, 41},
                                                                      {4, 128},
                                                                      {8, 64},
                                                                      {8, 8},
                                                                      {3, 21},
                                                                      {5, 60},
                                                                      {1, 16},
                                                                      {2, 32},
                                                                      {7, 7},
                                                                      {2, 2},
                                                                      {300, 300},
                                                                      {3, 300},
                                                                      {12, 192},
                                                                      {2, 288}}};
  for (const auto& [groups, features] : groups_and_features)
    for (const long padding : {0, 5})
      for (const bool gathers : {false, true})
        run(g, features, 1, {groups, padding, groups == 1 && padding == 0}, gathers);
}

TEST(SortedEdges, IndicesCountFromTheEndWhereThatIsSaid) {
  ThreadPool pool(1);
  for (const bool rows : {false, true}) {
    Graph<std::int64_t> g(9, 9, 20, false);
    std::vector<std::int64_t>& index = rows ? g.row : g.col;
    index[3] = -9;
    Memory memory(sorted_edges_bytes(9, 20)), scratch(sort_scratch_bytes(9, 1));
    EXPECT_EQ(sort_edges(g.edges(), memory.at(), scratch.at(), pool), 3);
    (rows ? g.row_from_end : g.col_from_end) = true;
    EXPECT_EQ(sort_edges(g.edges(), memory.at(), scratch.at(), pool), -1);
    index[5] = -10;
    EXPECT_EQ(sort_edges(g.edges(), memory.at(), scratch.at(), pool), 5);
  }
}

TEST(SortedEdges, ReportTheFirstIndexOutOfRange) {
  ThreadPool pool(2);
  Graph<std::int64_t> g(40, 40, 60000, false);
  g.col[50000] = 40;
  g.row[30000] = -1;
  Memory memory(sorted_edges_bytes(40, 60000)), scratch(sort_scratch_bytes(40, 2));
  EXPECT_EQ(sort_edges(g.edges(), memory.at(), scratch.at(), pool), 30000);
}

TEST(SortedEdges, TargetsAndSourcesOfDifferentTypes) {
  ThreadPool pool(1);
  const std::array<std::int32_t, 3> targets = {1, 0, 1};
  const std::array<std::int64_t, 3> sources = {2, 1, 0};
  Memory memory(sorted_edges_bytes(2, 3)), scratch(sort_scratch_bytes(2, 1));
  const Edges edges{.count = 3,
                    .targets = {.data = targets.data(), .dtype = DType::i32, .range = 2},
                    .sources = {.data = sources.data(), .dtype = DType::i64, .range = 3}};
  EXPECT_EQ(sort_edges(edges, memory.at(), scratch.at(), pool), -1);
  const SortedEdges sorted = sorted_edges_in(memory.at(), 2);
  EXPECT_EQ(sorted.offsets[1], 1);
  EXPECT_EQ(sorted.entries[0].source, 1);
  EXPECT_EQ(sorted.entries[0].edge, 1);
  EXPECT_EQ(sorted.entries[2].source, 0);
}

}  // namespace
}  // namespace tenon::cpu
