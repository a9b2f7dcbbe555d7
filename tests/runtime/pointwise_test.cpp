// Special functions and greatest common divisors: every function at its edges against the interpreter.
#include "ir/ops/special.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

Tensor tensor_of(DType dtype, const Index& shape, const std::vector<double>& values) {
  Tensor t = Tensor::empty(dtype, shape);
  std::size_t next = 0;
  for_each_index(shape,
                 [&](std::span<const std::int64_t> i) { t.set_double(i, values[next++ % values.size()]); });
  return t;
}

std::size_t arity(SpecialFunction f) {
  constexpr std::size_t arities[] = {
#define SPECIAL(name, arity, ...) arity,
#include "base/specials.def"
  };
  return arities[static_cast<std::size_t>(f)];
}

// Both operands as they come, of this dtype; they broadcast against each other.
void check_special(SpecialFunction f, const Tensor& x, const Tensor& n, const std::string& result,
                   double tolerance) {
  const auto name = EnumNames<SpecialFunction>::names[static_cast<std::size_t>(f)];
  const std::string a = x.type_string(), b = n.type_string();
  if (arity(f) == 1)
    expect_same_on(
        fmt::format("graph g(%x: {0}) {{\n  %1 = special(%x, function=\"{1}\") : {0}\n  return %1\n}}\n", a,
                    name),
        {x}, tolerance);
  else
    expect_same_on(
        fmt::format("graph g(%x: {0}, %n: {1}) {{\n  %1 = special(%x, %n, function=\"{2}\") : {3}\n"
                    "  return %1\n}}\n",
                    a, b, name, result),
        {x, n}, tolerance);
}

template <class F>
void each_function(F&& f) {
  for (std::size_t i = 0; i < EnumNames<SpecialFunction>::names.size(); ++i)
    f(static_cast<SpecialFunction>(i));
}

const std::vector<double> near_ones = {0.3, -0.3, 1, -1,  0.02, 0.97, 2.5, -2.5,
                                       4,   -4,   0, 0.5, 9.5,  29,   31,  -31};

void check_near_one(SpecialFunction f, DType dtype, double tolerance) {
  check_special(f, tensor_of(dtype, {16, 1}, near_ones), tensor_of(dtype, {7}, {0, 1, 2, 3.7, 6, -1, 12}),
                type_string(dtype, Index{16, 7}), tolerance);
}

TEST(Pointwise, EverySpecialFunction) {
  each_function([](SpecialFunction f) { check_near_one(f, DType::f32, 1e-6); });
  for (const auto f : {SpecialFunction::airy_ai, SpecialFunction::k1, SpecialFunction::gammainc})
    check_near_one(f, DType::f64, 1e-13);
}

TEST(Pointwise, EdgesOfSpecialFunctions) {
  constexpr double large = 1e30;
  for (const double x :
       {0.0, -0.0, -7.0, HUGE_VAL, -HUGE_VAL, std::nan(""), large, -large, 1e-40, 700.0, -700.0})
    each_function([&](SpecialFunction f) {
      check_special(f, tensor_of(DType::f32, {}, {x}),
                    tensor_of(DType::f32, {6}, {0, 5, -HUGE_VAL, HUGE_VAL, std::nan(""), -5}), "f32[6]",
                    1e-5);
    });
}

TEST(Pointwise, SixteenBits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const auto f : {SpecialFunction::i0e, SpecialFunction::zeta})
      check_special(f, tensor_of(dtype, {300}, near_ones), tensor_of(dtype, {1}, {2}),
                    type_string(dtype, Index{300}), 1e-2);
}

TEST(Pointwise, GreatestCommonDivisors) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8}) {
    const Tensor a = random_integers(dtype, {2, 1, 40}, dtype == DType::u8 ? 0 : -128, 128, 1),
                 b = random_integers(dtype, {3, 1}, dtype == DType::u8 ? 0 : -128, 128, 2);
    expect_same_on(fmt::format("graph g(%a: {}, %b: {}) {{\n  %1 = gcd(%a, %b) : {}\n  return %1\n}}\n",
                               a.type_string(), b.type_string(), type_string(dtype, Index{2, 3, 40})),
                   {a, b});
  }
}

TEST(Pointwise, OperandsThatAreStretchedHaveKernels) {
  for (const auto& [types, call] :
       {std::pair{"%x: f32[3,5], %n: f32[]", "special(%x, %n, function=\"zeta\") : f32[3,5]"},
        {"%x: f64[3,1], %n: f64[1,5]", "special(%x, %n, function=\"gammainc\") : f64[3,5]"},
        {"%x: bf16[3,5], %n: bf16[5]", "special(%n, %x, function=\"zeta\") : bf16[3,5]"},
        {"%x: i64[3,5], %n: i64[]", "gcd(%x, %n) : i64[3,5]"},
        {"%x: i8[3,5], %n: i8[3,5]", "gcd(%x, %n) : i8[3,5]"}}) {
    const auto text = fmt::format("graph g({}) {{\n  %1 = {}\n  return %1\n}}\n", types, call);
    const auto graph = graph_of(text);
    const auto inputs = inputs_of(*graph, {});
    Session session(graph);
    expect_no_reference(session, inputs);
    expect_same_on(text, inputs, 1e-2);
  }
}

// Outside of loops they are constants.
TEST(Pointwise, RandomNumbersOfALoopHaveAKernel) {
  for (const int bits : {24, 32, 33, 63}) {
    const std::string text = fmt::format(R"(graph g() {{
  %2 = loop(true:bool, carried=0, limit=3) (%i: i64[]) {{
    %1 = random_bits(%i, shape=[5,401], bits={}, stream=1, seed=-123456789012345) : i64[5,401]
    return true:bool, %1
  }} : i64[3,5,401]
  return %2
}}
)",
                                         bits);
    const auto plan = plan_of(text);
    EXPECT_NE(plan->text().find("[random bits]"), std::string::npos) << plan->text();
    expect_same_on(text, {}, 0);
  }
}

// Unless they are many.
TEST(Pointwise, ManyRandomNumbersAreDrawnByEachRun) {
  constexpr const char* text = R"(graph g() {
  %1 = random_bits(shape=[9,1048576], bits=32, stream=5) : i64[9,1048576]
  %2 = amax(%1, axes=1) : i64[9]
  return %2
}
)";
  EXPECT_NE(plan_of(text)->text().find("[random bits]"), std::string::npos);
  expect_same_on(text, {}, 0);
}

TEST(Pointwise, OperandsInAnyOrderOfAxes) {
  expect_same_on(
      "graph g(%x: f32[5,3], %n: f32[3,5]) {\n  %1 = permute(%x, axes=[1,0]) : f32[3,5]\n"
      "  %2 = special(%1, %n, function=\"legendre_p\") : f32[3,5]\n  return %2\n}\n",
      {random_tensor(DType::f32, {5, 3}, 1), tensor_of(DType::f32, {3, 5}, {0, 1, 2, 3})});
}

TEST(Pointwise, AlongManyAxes) {
  expect_same_on(
      "graph g(%x: i64[2,3,1,2,1,2,1,2,1,2], %y: i64[3,2,1,2,1,2,1,2,2]) {\n"
      "  %1 = gcd(%x, %y) : i64[2,3,2,2,2,2,2,2,2,2]\n  return %1\n}\n",
      {random_integers(DType::i64, {2, 3, 1, 2, 1, 2, 1, 2, 1, 2}, -60, 60, 1),
       random_integers(DType::i64, {3, 2, 1, 2, 1, 2, 1, 2, 2}, -60, 60, 2)});
}

}  // namespace
}  // namespace tenon::testing
