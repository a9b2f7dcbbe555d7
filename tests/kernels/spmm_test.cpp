// The sparse product is the sum over edges, for sorted and unsorted edges, any width, and any number of
// threads.
#include "kernels/cpu/spmm.h"

#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class SpmmOnIsa : public OnEveryIsa {};
TENON_EVERY_ISA(SpmmOnIsa);

template <class Index>
struct Graph {
  Graph(long rows, long cols, long edges, bool sorted) {
    std::mt19937 random(5);
    for (long e = 0; e < edges; e++) {
      const long r = static_cast<long>(random()) % rows;
      row.push_back(static_cast<Index>(sorted ? e * rows / edges : r));
      col.push_back(static_cast<Index>(static_cast<long>(random()) % cols));
      weight.push_back(static_cast<float>(random() % 100) / 50 - 1);
    }
    coo = {.rows = rows,
           .cols = cols,
           .edges = edges,
           .row = row.data(),
           .col = col.data(),
           .index_dtype = sizeof(Index) == 4 ? DType::i32 : DType::i64,
           .weight = weight.data()};
  }
  std::vector<Index> row, col;
  std::vector<float> weight;
  Coo coo;
};

void* aligned(std::vector<std::byte>& memory) {
  void* at = memory.data();
  std::size_t space = memory.size();
  return std::align(64, 1, at, space);
}

template <class Index>
std::vector<float> run(const Graph<Index>& g, long features, int threads) {
  ThreadPool pool(threads);
  std::vector<std::byte> memory(csr_bytes(g.coo.rows, g.coo.edges) + 64);
  std::vector<std::byte> scratch(csr_scratch_bytes(g.coo.rows, threads));
  void* const csr = aligned(memory);
  EXPECT_EQ(csr_from_coo(g.coo, csr, scratch.data(), pool), -1);
  std::vector<float> x(static_cast<std::size_t>(g.coo.cols * features));
  for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i % 17) - 8;
  std::vector<float> out(static_cast<std::size_t>(g.coo.rows * (features + 3)), -7.0f);
  spmm({csr_in(csr, g.coo.rows), features, x.data(), features, out.data(), features + 3}, pool);
  std::vector<double> expected(out.size(), -7.0);
  for (long r = 0; r < g.coo.rows; r++)
    for (long f = 0; f < features; f++) expected[static_cast<std::size_t>(r * (features + 3) + f)] = 0;
  for (std::size_t e = 0; e < g.row.size(); e++) {
    for (long f = 0; f < features; f++) {
      expected[static_cast<std::size_t>(g.row[e] * (features + 3) + f)] +=
          static_cast<double>(g.coo.weight ? g.coo.weight[e] : 1.0f) *
          static_cast<double>(x[static_cast<std::size_t>(g.col[e] * features + f)]);
    }
  }
  for (std::size_t i = 0; i < out.size(); i++) {
    EXPECT_NEAR(static_cast<double>(out[i]), expected[i], 1e-4) << features << " features, at " << i;
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

TEST_P(SpmmOnIsa, NoWeightsAndNoEdges) {
  Graph<std::int64_t> g(10, 10, 30, false);
  g.coo.weight = nullptr;
  run(g, 9, 2);
  run(Graph<std::int64_t>(10, 10, 0, false), 9, 2);
}

TEST(Csr, IndicesCountFromTheEndWhereThatIsSaid) {
  ThreadPool pool(1);
  for (const bool rows : {false, true}) {
    Graph<std::int64_t> g(9, 9, 20, false);
    std::vector<std::int64_t>& index = rows ? g.row : g.col;
    index[3] = -9;
    std::vector<std::byte> memory(csr_bytes(9, 20) + 64), scratch(csr_scratch_bytes(9, 1));
    EXPECT_EQ(csr_from_coo(g.coo, aligned(memory), scratch.data(), pool), 3);
    (rows ? g.coo.row_from_end : g.coo.col_from_end) = true;
    EXPECT_EQ(csr_from_coo(g.coo, aligned(memory), scratch.data(), pool), -1);
    index[5] = -10;
    EXPECT_EQ(csr_from_coo(g.coo, aligned(memory), scratch.data(), pool), 5);
  }
}

TEST(Csr, ReportsTheFirstEdgeOutOfRange) {
  ThreadPool pool(2);
  Graph<std::int64_t> g(40, 40, 60000, false);
  g.col[50000] = 40;
  g.row[30000] = -1;
  std::vector<std::byte> memory(csr_bytes(40, 60000) + 64), scratch(csr_scratch_bytes(40, 2));
  EXPECT_EQ(csr_from_coo(g.coo, aligned(memory), scratch.data(), pool), 30000);
}

}  // namespace
}  // namespace tenon::cpu
