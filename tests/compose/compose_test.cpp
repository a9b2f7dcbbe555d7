// Compositions: what they compute, as graphs that the reference interpreter runs.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compose/einsum.h"
#include "compose/matrix.h"
#include "compose/p_norm.h"
#include "compose/repeat.h"
#include "ir/evaluate.h"

namespace tenon {
namespace {

Tensor numbers(const Index& shape, const std::vector<double>& values) {
  Tensor t = Tensor::empty(DType::f32, shape);
  std::size_t at = 0;
  for_each_index(shape, [&](std::span<const std::int64_t> i) { t.set_double(i, values[at++]); });
  return t;
}

struct Result {
  Shape shape;
  std::vector<double> values;
  bool operator==(const Result&) const = default;
};

/// What f computes of the tensors.
Result of(const std::vector<Tensor>& inputs, const std::function<Ref(std::span<const Ref>)>& f) {
  Graph graph;
  const InsertionPoint point{&graph.body()};
  std::vector<Ref> operands;
  for (const Tensor& t : inputs)
    operands.emplace_back(graph.body().add_parameter({t.dtype(), Shape(t.shape().begin(), t.shape().end())}),
                          point);
  graph.body().add_result(f(operands).value());
  const Tensor out = evaluate(graph, inputs)[0];
  Result result{Shape(out.shape().begin(), out.shape().end()), {}};
  for_each_index(out.shape(),
                 [&](std::span<const std::int64_t> i) { result.values.push_back(out.get_double(i)); });
  return result;
}

TEST(Compose, EinsumSumsWhatTheResultDoesNotName) {
  const Tensor a = numbers({2, 2}, {1, 2, 3, 4}), b = numbers({2}, {10, 100});
  const auto run = [&](std::string_view equation) {
    return of({a, b}, [&](auto x) { return einsum(equation, x); });
  };
  EXPECT_EQ(run("ij,j->i"), (Result{{2}, {210, 430}}));
  EXPECT_EQ(run("ij,j->ji"), (Result{{2, 2}, {10, 30, 200, 400}}));
  EXPECT_EQ(run("ii,k->k"), (Result{{2}, {50, 500}}));
  EXPECT_THROW(run("ij->i"), Error);
}

TEST(Compose, VectorsLoseTheAxisThatAProductGaveThem) {
  const Tensor a = numbers({2, 2}, {1, 2, 3, 4}), v = numbers({2}, {10, 100});
  EXPECT_EQ(of({a, v}, [](auto x) { return product(x[0], x[1]); }), (Result{{2}, {210, 430}}));
  EXPECT_EQ(of({v, a}, [](auto x) { return product(x[0], x[1]); }), (Result{{2}, {310, 420}}));
  EXPECT_EQ(of({v, v}, [](auto x) { return product(x[0], x[1]); }), (Result{{}, {10100}}));
}

TEST(Compose, InversesTrianglesAndRepetitions) {
  const Tensor a = numbers({2, 2}, {2, 1, 0, 4});
  EXPECT_EQ(of({a}, [](auto x) { return inverse(x[0]); }), (Result{{2, 2}, {0.5, -0.125, 0, 0.25}}));
  EXPECT_EQ(of({a}, [](auto x) { return determinant(x[0]); }), (Result{{}, {8}}));
  EXPECT_EQ(of({a}, [](auto x) { return kept_triangle(x[0], true, 0); }), (Result{{2, 2}, {2, 0, 0, 4}}));
  EXPECT_EQ(of({a}, [](auto x) { return kept_triangle(x[0], false, 1); }), (Result{{2, 2}, {0, 1, 0, 0}}));
  EXPECT_EQ(of({numbers({2}, {1, 2})},
               [](auto x) {
                 return repeated(x[0], {2, 1});
               }),
            (Result{{2, 2}, {1, 2, 1, 2}}));
}

TEST(Compose, DistancesAndNorms) {
  const Tensor a = numbers({1, 2}, {0, 0}), b = numbers({2, 2}, {3, 4, -6, 8});
  EXPECT_EQ(of({a, b}, [](auto x) { return distances(x[0], x[1], 2); }), (Result{{1, 2}, {5, 10}}));
  EXPECT_EQ(of({a, b}, [](auto x) { return distances(x[0], x[1], 1); }), (Result{{1, 2}, {7, 14}}));
  EXPECT_EQ(of({a, b}, [](auto x) { return distances_by_products(x[0], x[1]); }), (Result{{1, 2}, {5, 10}}));
  const Tensor c = numbers({2, 2}, {3, 4, 6, 8});
  EXPECT_EQ(of({c, c}, [](auto x) { return distances_by_products(x[0], x[1]); }),
            (Result{{2, 2}, {0, 5, 5, 0}}));
  EXPECT_EQ(of({b}, [](auto x) { return p_norm(x[0], 0, {1}, false); }), (Result{{2}, {2, 2}}));
}

}  // namespace
}  // namespace tenon
