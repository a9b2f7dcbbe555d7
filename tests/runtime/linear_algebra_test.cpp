// Factorisations and systems of equations: every operator at many sizes and in batches against the
// interpreter, and what they say of data that they cannot take.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/spectra.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

// Those of LinearAlgebra run on devices, too, where an emulated one takes long for the others.
constexpr std::int64_t small_sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64};
constexpr double in_double = 1e-9;

Tensor product(const Tensor& a, const Tensor& b) {
  return evaluate(
      *graph_of(fmt::format("graph g(%a: {}, %b: {}) {{\n  %1 = matmul(%a, %b)\n  return %1\n}}\n",
                            a.type_string(), b.type_string())),
      std::vector{a, b})[0];
}

/// x x^T + rows * identity / 10: far from singular.
Tensor positive(DType dtype, const Index& shape, unsigned seed) {
  const Tensor x = random_tensor(dtype, shape, seed);
  const std::vector<std::int64_t> turned =
      shape.size() == 2 ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{0, 2, 1};
  Tensor y = product(x, x.permute(turned).contiguous());
  for_each_index(shape, [&](std::span<const std::int64_t> i) {
    if (i[i.size() - 2] == i.back())
      y.set_double(i, y.get_double(i) + static_cast<double>(shape.back()) / 10 + 0.1);
  });
  return y;
}

/// Random numbers, with a diagonal that makes systems of equations well-conditioned.
Tensor regular(DType dtype, const Index& shape, unsigned seed) {
  Tensor x = random_tensor(dtype, shape, seed);
  for_each_index(shape, [&](std::span<const std::int64_t> i) {
    if (i[i.size() - 2] == (i.back() + 1) % shape.back())
      x.set_double(i, x.get_double(i) + static_cast<double>(shape.back()));
  });
  return x;
}

/// Both triangles are well-conditioned.
Tensor triangular(DType dtype, const Index& shape) {
  Tensor x = random_tensor(dtype, shape, 1);
  for_each_index(shape, [&](std::span<const std::int64_t> i) {
    const double number = x.get_double(i);
    x.set_double(i, i[1] == i[2] ? 1 + std::abs(number) : number / static_cast<double>(shape.back()));
  });
  return x;
}

struct Call {
  std::string text;  // "%1, %2 = lu(%a)"
  std::vector<Tensor> inputs;
  std::string results = "%1";
};

void expect_same(const Call& call, double tolerance = 2e-5) {
  std::string parameters;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    parameters +=
        fmt::format("{}%{}: {}", i > 0 ? ", " : "", static_cast<char>('a' + i), call.inputs[i].type_string());
  expect_same_on(fmt::format("graph g({}) {{\n  {}\n  return {}\n}}\n", parameters, call.text, call.results),
                 call.inputs, tolerance);
}

class OfEverySize : public ::testing::TestWithParam<std::int64_t> {
 protected:
  const std::int64_t n = GetParam();
  const Index square{2, n, n};
};

class SpectraOfEverySize : public OfEverySize {};

const auto by_size = [](const auto& test) { return std::to_string(test.param); };
INSTANTIATE_TEST_SUITE_P(LinearAlgebra, OfEverySize, ::testing::ValuesIn(small_sizes), by_size);
INSTANTIATE_TEST_SUITE_P(LinearAlgebraLarge, OfEverySize, ::testing::Values(130), by_size);
INSTANTIATE_TEST_SUITE_P(OnTheCpu, OfEverySize, ::testing::Values(100, 200), by_size);
INSTANTIATE_TEST_SUITE_P(LinearAlgebra, SpectraOfEverySize, ::testing::ValuesIn(small_sizes), by_size);
INSTANTIATE_TEST_SUITE_P(OnTheCpu, SpectraOfEverySize, ::testing::Values(100, 130, 200), by_size);

TEST_P(OfEverySize, CholeskyFactors) {
  expect_same({"%1 = cholesky(%a)", {positive(DType::f32, square, 1)}});
  expect_same({"%1 = cholesky(%a)", {positive(DType::f64, {n, n}, 1)}}, in_double);
}

TEST_P(OfEverySize, TriangularSystems) {
  for (const bool upper : {false, true})
    for (const bool unit : {false, true}) {
      const std::string text = fmt::format("%1 = triangular_solve(%a, %b, upper={}, unit={})", upper, unit);
      const Tensor a = triangular(DType::f32, square);
      for (const std::int64_t columns : {3, 20, 70}) {
        const Tensor b = random_tensor(DType::f32, {2, n, columns}, 2);
        expect_same({text, {a, b}});
        expect_same({text, {a.to(DType::f64), b.to(DType::f64)}}, in_double);
      }
    }
}

TEST_P(OfEverySize, Systems) {
  for (const std::int64_t columns : {std::int64_t{1}, std::int64_t{5}, n})
    expect_same({"%1 = solve(%a, %b)",
                 {regular(DType::f32, square, 1), random_tensor(DType::f32, {2, n, columns}, 2)}});
  expect_same({"%1 = solve(%a, %b)", {regular(DType::f64, {n, n}, 1), random_tensor(DType::f64, {n, 40}, 2)}},
              in_double);
}

TEST_P(OfEverySize, FactorsWithPivots) {
  for (const Index& shape : {square, Index{2, n, n + 5}, Index{n + 20, n}})
    expect_same({"%1, %2 = lu(%a)", {random_tensor(DType::f32, shape, 3)}, "%1, %2"}, 2e-4);
  expect_same({"%1, %2 = lu(%a)", {random_tensor(DType::f64, square, 3)}, "%1, %2"}, in_double);
  expect_same({fmt::format("%1, %2 = lu(%a)  %3 = pivot_rows(%2, rows={})", n + 2),
               {random_tensor(DType::f32, {2, n + 2, n}, 3)},
               "%3"});
}

TEST_P(OfEverySize, Determinants) {
  Tensor x = random_tensor(DType::f64, square, 4);
  expect_same({"%1, %2, %3 = determinant(%a)", {x}, "%2, %3"}, in_double);
  if (n <= 33) expect_same({"%1, %2, %3 = determinant(%a)", {x.to(DType::f32)}, "%1, %2, %3"});
}

TEST_P(OfEverySize, OrthogonalFactors) {
  for (const Index& shape : {square, Index{2, n, n + 5}, Index{n + 20, n}})
    for (const bool complete : {false, true}) {
      const std::string text = fmt::format("%1, %2 = qr(%a, complete={})", complete);
      expect_same({text, {random_tensor(DType::f32, shape, 5)}, "%1, %2"});
      expect_same({text, {random_tensor(DType::f64, shape, 5)}, "%1, %2"}, in_double);
    }
  expect_same(
      {"%1, %2 = reflections(%a)  %3 = reflection_product(%1, %2)  "
       "%4 = reflection_product(%1, %2, complete=true)",
       {random_tensor(DType::f32, {2, n + 3, n}, 6)},
       "%1, %2, %3, %4"});
}

TEST_P(OfEverySize, SymmetricFactors) {
  Tensor x = random_tensor(DType::f64, square, 7);
  expect_same({"%1, %2 = ldl_factor(%a)  %3 = ldl_solve(%1, %2, %b)",
               {x, random_tensor(DType::f64, {2, n, 40}, 8)},
               "%1, %2, %3"},
              1e-7);
  const Tensor y = positive(DType::f32, square, 7);
  expect_same({"%1, %2 = ldl_factor(%a)  %3 = ldl_solve(%1, %2, %b)",
               {y, random_tensor(DType::f32, {2, n, 4}, 8)},
               "%1, %2, %3"});
}

TEST_P(SpectraOfEverySize, SymmetricEigenvalues) {
  expect_same({"%1, %2 = eigh(%a)", {random_tensor(DType::f32, square, 9)}, "%1, %2"});
  expect_same({"%1, %2 = eigh(%a)", {random_tensor(DType::f64, {n, n}, 9)}, "%1, %2"}, 1e-8);
}

TEST_P(SpectraOfEverySize, VectorsOfEqualEigenvaluesComeAsTheyLie) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor x = Tensor::zeros(dtype, {n, n});
    for (std::int64_t i = 0; i < n; ++i) x.set_double(Index{i, i}, static_cast<double>(i / 4));
    expect_same({"%1, %2 = eigh(%a)", {x}, "%1, %2"});
  }
}

TEST_P(SpectraOfEverySize, SingularValues) {
  expect_same({"%1, %2, %3 = svd(%a)", {random_tensor(DType::f32, square, 10)}, "%1, %2, %3"});
  expect_same({"%1, %2, %3 = svd(%a)", {random_tensor(DType::f64, square, 10)}, "%1, %2, %3"}, 1e-8);
  if (n > 64) return;
  for (const Index& shape : {Index{n, n + 7}, Index{n + 30, n}})
    for (const bool complete : {false, true}) {
      const std::string text = fmt::format("%1, %2, %3 = svd(%a, complete={})", complete);
      expect_same({text, {random_tensor(DType::f32, shape, 10)}, "%1, %2, %3"});
      expect_same({text, {random_tensor(DType::f64, shape, 10)}, "%1, %2, %3"}, 1e-8);
    }
}

TEST_P(SpectraOfEverySize, SpectraWithoutVectors) {
  for (const Index& shape : {square, Index{2, n, n + 5}, Index{n + 9, n}}) {
    expect_same({"%1, %2, %3 = svd(%a)", {random_tensor(DType::f32, shape, 13)}, "%2"});
    expect_same({"%1, %2, %3 = svd(%a)", {random_tensor(DType::f64, shape, 13)}, "%2"}, in_double);
  }
  expect_same({"%1, %2 = eigh(%a)", {random_tensor(DType::f64, square, 14)}, "%1"}, in_double);
}

TEST_P(SpectraOfEverySize, Eigenvalues) {
  Tensor x = random_tensor(DType::f64, {2, n, n}, 11);
  expect_same(
      {"%1, %2 = eig(%a)  %3 = real(%1)  %4 = imag(%1)  %5 = real(%2)  %6 = imag(%2)", {x}, "%3, %4, %5, %6"},
      1e-6);
}

TEST_P(OfEverySize, Exponentials) {
  Tensor x = random_tensor(DType::f32, square, 12);
  for_each_index(square, [&](auto i) { x.set_double(i, x.get_double(i) * 3 / static_cast<double>(n)); });
  expect_same({"%1 = matrix_exp(%a)", {x}});
}

Tensor zeros(const Index& shape) { return Tensor::zeros(DType::f32, shape); }

TEST(LinearAlgebraFaults, AreThoseOfTheReference) {
  const std::vector<Tensor> none{zeros({2, 3, 3})};
  expect_fault("graph g(%a: f32[2,3,3]) {\n  %1 = cholesky(%a)\n  return %1\n}\n", none,
               "cholesky: the matrix is not positive definite");
  expect_fault("graph g(%a: f32[2,3,3]) {\n  %1 = solve(%a, %a)\n  return %1\n}\n", none,
               "solve: the matrix is singular");
  expect_fault("graph g(%a: f32[2,3,3]) {\n  %1, %2 = ldl_factor(%a)\n  return %1\n}\n", none,
               "ldl_factor: the matrix is singular");
  Tensor wrong = zeros({2, 3, 3});
  wrong.set_double(Index{1, 2, 2}, HUGE_VAL);
  for (const std::string call : {"%1, %2 = eigh(%a)", "%1, %2, %3 = svd(%a)", "%1, %2 = eig(%a)"})
    expect_fault("graph g(%a: f32[2,3,3]) {\n  " + call + "\n  return %1\n}\n", {wrong},
                 "the matrix holds an infinity or NaN");
  expect_fault("graph g(%a: i32[1]) {\n  %1 = pivot_rows(%a, rows=3)\n  return %1\n}\n",
               {Tensor::of<int>(DType::i32, {1}, {7})}, "pivot 7 of 3 rows");
  expect_fault("graph g(%a: f32[2,2], %b: i32[2]) {\n  %1 = ldl_solve(%a, %b, %a)\n  return %1\n}\n",
               {random_tensor(DType::f32, {2, 2}, 1), Tensor::of<int>(DType::i32, {2}, {1, -2})},
               "pivot -2 of 2 rows");
}

// No suite of a device: on the CPU equal rows are eliminated alike, elsewhere rounding may keep them apart.
class SingularOfEverySize : public ::testing::TestWithParam<std::int64_t> {};

INSTANTIATE_TEST_SUITE_P(OnTheCpu, SingularOfEverySize, ::testing::Values(2, 7, 8, 16, 17, 33, 100), by_size);

/// Row 1 is row 0.
Tensor singular(DType dtype, std::int64_t n) {
  Tensor x = regular(dtype, {2, n, n}, 3);
  for (std::int64_t j = 0; j < n; ++j) x.set_double(Index{1, 1, j}, x.get_double(Index{1, 0, j}));
  return x;
}

TEST_P(SingularOfEverySize, IsRefusedOrFactored) {
  const std::int64_t n = GetParam();
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = singular(dtype, n);
    const std::string type = x.type_string();
    expect_fault("graph g(%a: " + type + ") {\n  %1 = solve(%a, %a)\n  return %1\n}\n", {x},
                 "solve: the matrix is singular");
    expect_same({"%1, %2, %3 = determinant(%a)", {x}, "%2, %3"}, 1e-3);
    Tensor zero = Tensor::zeros(dtype, {n, n});
    expect_same({"%1, %2 = lu(%a)  %3, %4, %5 = determinant(%a)  %6, %7 = qr(%a)",
                 {zero},
                 "%1, %2, %3, %4, %5, %6, %7"});
    Tensor wrong = positive(dtype, {2, n, n}, 1);
    wrong.set_double(Index{1, n - 1, n - 1}, -1);
    expect_fault("graph g(%a: " + type + ") {\n  %1 = cholesky(%a)\n  return %1\n}\n", {wrong},
                 "cholesky: the matrix is not positive definite");
    wrong.set_double(Index{1, n - 1, 0}, std::nan(""));
    expect_fault("graph g(%a: " + type + ") {\n  %1 = cholesky(%a)\n  return %1\n}\n", {wrong},
                 "cholesky: the matrix is not positive definite");
  }
}

TEST_P(SingularOfEverySize, NumbersThatAreNotFiniteComeWhereTheReferenceHasThem) {
  const std::int64_t n = GetParam();
  for (const DType dtype : {DType::f32, DType::f64})
    for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")})
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
        Tensor x = regular(dtype, {2, n, n}, 5);
        x.set_double(Index{0, at, n / 3}, number);
        const Tensor b = random_tensor(dtype, {2, n, 3}, 6);
        expect_same({"%1, %2 = lu(%a)", {x}, "%1, %2"}, 1e-3);
        expect_same({"%1 = solve(%a, %b)", {x, b}}, 1e-3);
        expect_same({"%1, %2 = qr(%a)", {x}, "%1, %2"}, 1e-3);
        Tensor triangle = triangular(dtype, {2, n, n});
        triangle.set_double(Index{0, at, n / 3}, number);
        expect_same({"%1 = triangular_solve(%a, %b)  %2 = triangular_solve(%a, %b, upper=true, unit=true)",
                     {triangle, b},
                     "%1, %2"},
                    1e-3);
        Tensor column = Tensor::zeros(dtype, {n, n});
        column.set_double(Index{at, 0}, number);
        expect_same({"%1, %2 = lu(%a)", {column}, "%1, %2"});
      }
}

TEST(FactorsOnTheCpu, HaveKernels) {
  for (const char* call :
       {"%1 = cholesky(%a)", "%1 = solve(%a, %a)", "%1 = triangular_solve(%a, %a)",
        "%1, %2, %3 = determinant(%a)", "%1, %2 = qr(%a)", "%0, %2 = lu(%a)  %1 = pivot_rows(%2, rows=4)",
        "%1, %2 = reflections(%a)", "%0, %2 = reflections(%a)  %1 = reflection_product(%0, %2)",
        "%1, %2 = ldl_factor(%a)", "%0, %2 = ldl_factor(%a)  %1 = ldl_solve(%0, %2, %a)", "%1, %2 = eigh(%a)",
        "%1, %2, %3 = svd(%a)", "%1 = matrix_exp(%a)"})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const std::string type = type_string(dtype, Index{3, 4, 4});
      Session session(graph_of(fmt::format("graph g(%a: {}) {{\n  {}\n  return %1\n}}\n", type, call)));
      expect_no_reference(session, {{random_tensor(dtype, {3, 4, 4}, 1)}});
    }
}

TEST(FactorsOnTheCpu, ByEveryInstructionSet) {
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    const cpu::ForceIsa forced(isa);
    for (const std::int64_t n : {4, 7, 33, 130})
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = positive(dtype, {2, n, n}, 1);
        expect_same({"%1 = cholesky(%a)  %2, %3 = lu(%a)  %4, %5 = qr(%a)  %6, %7 = ldl_factor(%a)",
                     {x},
                     "%1, %2, %3, %4, %5, %6, %7"});
        expect_same(
            {"%1 = solve(%a, %a)  %2 = solve(%a, %b)", {x, random_tensor(dtype, {2, n, 3}, 2)}, "%1, %2"});
        expect_same({"%1, %2 = eigh(%a)  %3, %4, %5 = svd(%a)",
                     {random_tensor(dtype, {2, n, n}, 9)},
                     "%1, %2, %3, %4, %5"});
        Tensor small = random_tensor(dtype, {2, n, n}, 12);
        for_each_index(small.shape(), [&](auto i) {
          small.set_double(i, small.get_double(i) * 3 / static_cast<double>(n));
        });
        expect_same({"%1 = matrix_exp(%a)", {small}}, dtype == DType::f32 ? 2e-5 : in_double);
      }
  }
}

TEST(LinearAlgebraData, OfRankOne) {
  Tensor x = zeros({4, 6});
  for (std::int64_t j = 0; j < 6; ++j) x.set_double(Index{1, j}, 2);
  expect_same({"%1, %2, %3 = svd(%a, complete=true)", {x}, "%1, %2, %3"});
}

TEST(LinearAlgebraData, NobodyReadsTheUpperTriangleOfASymmetricMatrix) {
  Tensor x = random_tensor(DType::f64, {3, 3}, 1);
  x.set_double(Index{0, 1}, HUGE_VAL);
  x.set_double(Index{1, 2}, std::nan(""));
  expect_same({"%1, %2 = eigh(%a)", {x}, "%1, %2"}, in_double);
}

TEST(FactorsOnTheCpu, OfHugeNumbersHaveTheVectorsOfSmallOnes) {
  constexpr long rows = 5, columns = 7;
  const Tensor x = random_tensor(DType::f64, {rows, columns}, 1);
  const auto vectors_of = [&](int exponent) {
    std::vector<double> scaled(x.data<double>(), x.data<double>() + rows * columns);
    for (double& number : scaled) number = std::ldexp(number, exponent);
    std::vector<double> all(rows * rows + rows * columns), s(rows);
    constexpr std::size_t line = 64;
    std::vector<std::byte> room(cpu::spectrum_room(rows, columns, false) + line);
    void* aligned = room.data();
    std::size_t space = room.size();
    std::align(line, space - line, aligned, space);
    cpu::find_svd(scaled.data(), rows, columns, false, all.data(), s.data(), all.data() + rows * rows,
                  static_cast<std::byte*>(aligned));
    return all;
  };
  const std::vector<double> small = vectors_of(0), huge = vectors_of(1020);
  for (std::size_t i = 0; i < small.size(); ++i) EXPECT_NEAR(huge[i], small[i], 1e-12);
}

// exp(diag(0, -s, 0)) and the exponential of a strictly upper matrix have ones, however often they are
// squared.
TEST(LinearAlgebraData, ExponentialsOfLargeNorm) {
  Tensor identity = Tensor::zeros(DType::f64, {3, 3});
  for (std::int64_t i = 0; i < 3; ++i) identity.set_double(Index{i, i}, 1);
  for (const double s : {20.0, 1e6, 1e12, 1e18}) {
    Tensor x = Tensor::zeros(DType::f64, {2, 3, 3});
    x.set_double(Index{0, 1, 1}, -s);
    for (const auto& [i, j] : {std::pair{0, 1}, {0, 2}, {1, 2}}) x.set_double(Index{1, i, j}, s);
    expect_same({"%1 = matrix_exp(%a)  %2 = mul(%1, %b)", {x, identity}, "%2"}, in_double);
  }
}

// Of every degree, of matrices that are alone and of others.
TEST(LinearAlgebraData, ExponentialsOfHalves) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const Index& shape : {Index{1, 1}, Index{3, 3}, Index{2, 3, 3}, Index{24, 24}})
      for (const int exponent : {-30, -14, -10, -6, -3, 2, 20}) {
        Tensor x = random_tensor(DType::f32, shape, 13);
        for_each_index(shape, [&](auto i) { x.set_double(i, std::ldexp(x.get_double(i), exponent)); });
        SCOPED_TRACE(fmt::format("{} 2^{}", type_string(dtype, shape), exponent));
        expect_same({"%1 = matrix_exp(%a)", {x.to(dtype)}}, 1e-2);
      }
  for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")})
    expect_same({"%1 = matrix_exp(%a)", {Tensor::of<double>(DType::bf16, {2, 2}, {number, 0, 0, number})}});
}

TEST(LinearAlgebraData, IsReadAsItLies) {
  expect_same({"%1 = permute(%a, axes=[0,2,1])  %2 = solve(%1, %b)  %3 = triangular_solve(%1, %b)",
               {regular(DType::f32, {3, 20, 20}, 1), random_tensor(DType::f32, {3, 20, 50}, 2)},
               "%2, %3"});
}

}  // namespace
}  // namespace tenon::testing
