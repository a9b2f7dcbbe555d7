// Gradients against central differences of the reference interpreter in f64.
#include <cmath>
#include <random>

#include "ir/gradient.h"
#include "ir/verify.h"
#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

Tensor random(const Type& type, std::mt19937_64& engine) {
  std::uniform_real_distribution<double> uniform(-1.5, 1.5);
  Tensor t = Tensor::empty(type.dtype, eval(type.shape, {}));
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) { t.set_double(i, uniform(engine)); });
  return t;
}

double sum_of_floats(const std::vector<Tensor>& tensors) {
  double total = 0;
  for (const Tensor& t : tensors)
    if (is_float(t.dtype()))
      for_each_index(t.shape(), [&](std::span<const std::int64_t> i) { total += t.get_double(i); });
  return total;
}

// Operands written as types alone get random values.
void expect_gradient(const std::string& call, const std::vector<std::string>& operands,
                     const std::vector<std::string>& results) {
  const auto graph = graph_of(call, operands, results);
  const auto with_gradient = gradient_graph(*graph);
  verify(*with_gradient);
  std::mt19937_64 engine(1);
  std::vector<Tensor> inputs;
  for (const std::string& text : operands)
    inputs.push_back(text.find(' ') == std::string::npos ? random(Type::parse(text), engine) : tensor(text));
  const std::vector<Tensor> outputs = evaluate(*with_gradient, inputs);
  auto gradient = outputs.begin() + static_cast<std::ptrdiff_t>(results.size());
  constexpr double step = 1e-5;
  for (Tensor& input : inputs) {
    if (!is_float(input.dtype())) continue;
    const Tensor& actual = *gradient++;
    ASSERT_EQ(actual.type_string(), input.type_string()) << call;
    for_each_index(input.shape(), [&](std::span<const std::int64_t> i) {
      const double x = input.get_double(i);
      input.set_double(i, x + step);
      const double above = sum_of_floats(evaluate(*graph, inputs));
      input.set_double(i, x - step);
      const double below = sum_of_floats(evaluate(*graph, inputs));
      input.set_double(i, x);
      const double expected = (above - below) / (2 * step);
      EXPECT_NEAR(actual.get_double(i), expected, 1e-6 * (1 + std::fabs(expected))) << call;
    });
  }
}

struct GradientCase {
  std::string call;
  std::vector<std::string> operands, results;
};

void expect_gradients(const std::vector<GradientCase>& cases) {
  for (const GradientCase& c : cases) expect_gradient(c.call, c.operands, c.results);
}

// Where the operand must lie for the operator to be smooth and defined.
std::vector<std::string> domain(std::string_view name, int operands) {
  if (name == "acosh") return {"f64[3] 1.2 2 5"};
  if (name == "asin" || name == "acos" || name == "atanh" || name == "erfinv") return {"f64[3] -0.7 0.1 0.6"};
  if (name == "pow") return {"f64[3] 0.5 1.3 2.1", "f64[3] -1.2 0.4 2.0"};
  std::vector<std::string> positive = {"f64[3] 0.3 1.1 2.7", "f64[3] 1.6 0.7 0.4", "f64[3] 0.9 2.2 1.8"};
  if (name == "where") return {"bool[3] 1 0 1", positive[1], positive[2]};
  return {positive.begin(), positive.begin() + operands};
}

TEST(Gradients, OfEveryPointwiseOperator) {
  for (const OpInfo* op : all_ops()) {
    const Op defaults = op->make();
    if (!defaults.is_pointwise() || op->name == "digamma") continue;
    const auto operands = domain(op->name, op->min_inputs);
    std::vector<Type> types;
    for (const std::string& text : operands) types.push_back(Type::parse(text.substr(0, text.find(' '))));
    try {
      if (defaults.infer(types)[0].dtype != DType::f64) continue;
    } catch (const Error&) {
      continue;  // bits
    }
    std::string call(op->name);
    for (std::size_t i = 0; i < operands.size(); ++i) call += fmt::format("{}%{}", i ? ", " : "(", i);
    expect_gradient(call + ")", operands, {"f64[3]"});
  }
}

TEST(Gradients, OfSmoothOperatorsWhoseFormulaHasAKink) {
  for (const char* name :
       {"log_sigmoid", "softplus", "gelu", "silu", "mish", "sigmoid", "tanh", "expm1", "tanhshrink"})
    expect_gradient(fmt::format("{}(%0)", name), {"f64[3] -1 0 1"}, {"f64[3]"});
}

TEST(Gradients, SumWhatWasBroadcast) {
  expect_gradients({{"mul(%0, %1)", {"f64[2,3]", "f64[3]"}, {"f64[2,3]"}},
                    {"add(%0, %1)", {"f64[2,1]", "f64[1,3]"}, {"f64[2,3]"}},
                    {"where(%0, %1, %2)", {"bool[2,1] 1 0", "f64[]", "f64[2,3]"}, {"f64[2,3]"}}});
}

TEST(Gradients, OfShapeOperators) {
  expect_gradients({
      {"reshape(%0, shape=[3,2])", {"f64[2,3]"}, {"f64[3,2]"}},
      {"permute(%0, axes=[2,0,1])", {"f64[2,3,2]"}, {"f64[2,2,3]"}},
      {"slice(%0, axis=1, start=1, end=3)", {"f64[2,4]"}, {"f64[2,2]"}},
      {"slice(%0, axis=1, start=1, end=4, step=2)", {"f64[2,4]"}, {"f64[2,2]"}},
      {"slice(%0, axis=1, start=3, end=-1, step=-2)", {"f64[2,4]"}, {"f64[2,2]"}},
      {"expand(%0, shape=[2,3,2])", {"f64[3,1]"}, {"f64[2,3,2]"}},
      {"concat(%0, %1, %0, axis=1)", {"f64[2,2]", "f64[2,1]"}, {"f64[2,5]"}},
      {"pad(%0, pads=[1,0,-1,2])", {"f64[3,2]"}, {"f64[3,4]"}},
      {"flip(%0, axes=[1])", {"f64[2,3]"}, {"f64[2,3]"}},
  });
}

TEST(Gradients, OfReductions) {
  expect_gradients({
      {"sum(%0, axes=[0,2])", {"f64[2,3,2]"}, {"f64[3]"}},
      {"mean(%0, axes=[1], keepdim=true)", {"f64[2,3]"}, {"f64[2,1]"}},
      {"prod(%0, axes=[0,2])", {"f64[2,3,2]"}, {"f64[3]"}},
      {"prod(%0, axes=[0])", {"f64[3] 0 2 5"}, {"f64[]"}},
      {"amax(%0, axes=[1])", {"f64[2,4]"}, {"f64[2]"}},
      {"amin(%0, axes=[0,1])", {"f64[2,4]"}, {"f64[]"}},
      {"cumsum(%0, axis=1)", {"f64[2,4]"}, {"f64[2,4]"}},
      {"variance(%0, axes=[1])", {"f64[2,4]"}, {"f64[2]"}},
      {"logsumexp(%0, axes=[0])", {"f64[3,2]"}, {"f64[2]"}},
  });
  expect_gradient("sort(%0, axis=1)", {"f64[2,4]"}, {"f64[2,4]", "i64[2,4]"});
  expect_gradient("topk(%0, k=2, axis=1)", {"f64[2,4]"}, {"f64[2,2]", "i64[2,2]"});
}

TEST(Gradients, OfIndexing) {
  expect_gradients({
      {"index_select(%0, %1)", {"f64[4,2]", "i64[2,2] 1 3 1 0"}, {"f64[2,2,2]"}},
      {"gather(%0, %1, axis=1)", {"f64[2,3]", "i64[2,2] 0 0 2 1"}, {"f64[2,2]"}},
      {"index(%0, %1, %2, axes=[0,2])", {"f64[2,2,3]", "i64[3] 0 1 1", "i64[3] 2 0 0"}, {"f64[3,2]"}},
      {"scatter(%0, %1, %2, axis=1)", {"f64[2,3]", "i64[2,2] 0 1 2 0", "f64[2,3]"}, {"f64[2,3]"}},
      {"scatter(%0, %1, %2, axis=1, reduce=\"sum\")",
       {"f64[2,3]", "i64[2,2] 0 0 2 0", "f64[2,2]"},
       {"f64[2,3]"}},
      {"index_put(%0, %1, %2, axes=[1])", {"f64[2,3]", "f64[2,1]", "i64[2] 2 0"}, {"f64[2,3]"}},
      {"index_put(%0, %1, %2, axes=[1], accumulate=true)", {"f64[2,3]", "f64[]", "i64[2] 2 2"}, {"f64[2,3]"}},
      {"index_add(%0, %1, %2, axis=1)", {"f64[2,3]", "i64[2] 2 2", "f64[2,2]"}, {"f64[2,3]"}},
      {"index_add(%0, %1, %2, axis=1, from_end=true)", {"f64[2,3]", "i64[2] -1 2", "f64[2,2]"}, {"f64[2,3]"}},
  });
}

TEST(Gradients, OfProductsAndConvolutions) {
  expect_gradients({
      {"matmul(%0, %1)", {"f64[2,1,2,3]", "f64[2,3,2]"}, {"f64[2,2,2,2]"}},
      {"linear(%0, %1, %2)", {"f64[2,2,3]", "f64[2,3]", "f64[2]"}, {"f64[2,2,2]"}},
      {"conv(%0, %1, %2, stride=2, pad=1)", {"f64[2,2,5,4]", "f64[2,2,3,2]", "f64[2]"}, {"f64[2,2,3,3]"}},
      {"conv(%0, %1, stride=3, groups=2, pad=[1,0], dilation=2)",
       {"f64[1,4,9]", "f64[2,2,3]"},
       {"f64[1,2,2]"}},
      {"conv_transpose(%0, %1, %2, stride=2, pad=1, output_pad=1)",
       {"f64[2,2,3]", "f64[2,2,3]", "f64[2]"},
       {"f64[2,2,6]"}},
      {"conv_transpose(%0, %1, groups=2, dilation=2)", {"f64[1,2,3]", "f64[2,2,2]"}, {"f64[1,4,5]"}},
      {"max_pool(%0, kernel=3, stride=2, pad=1)", {"f64[1,2,5,4]"}, {"f64[1,2,3,2]"}},
      {"avg_pool(%0, kernel=3, stride=2, pad=1)", {"f64[1,2,5,4]"}, {"f64[1,2,3,2]"}},
      {"avg_pool(%0, kernel=3, stride=2, pad=1, count_include_pad=false)", {"f64[1,2,5]"}, {"f64[1,2,3]"}},
      {"avg_pool(%0, kernel=3, stride=2, pad=1, ceil=true)", {"f64[1,2,6]"}, {"f64[1,2,4]"}},
      {"avg_pool(%0, kernel=2, stride=1, divisor=3)", {"f64[1,2,4]"}, {"f64[1,2,3]"}},
      {"adaptive_avg_pool(%0, output=[2,3])", {"f64[1,2,4,3]"}, {"f64[1,2,2,3]"}},
      {"adaptive_avg_pool(%0, output=[1,1])", {"f64[1,2,4,3]"}, {"f64[1,2,1,1]"}},
  });
}

TEST(Gradients, OfComposites) {
  expect_gradients({
      {"softmax(%0, axis=1)", {"f64[2,3]"}, {"f64[2,3]"}},
      {"log_softmax(%0, axis=1)", {"f64[2,3]"}, {"f64[2,3]"}},
      {"layer_norm(%0, %1, %2)", {"f64[2,4]", "f64[4]", "f64[4]"}, {"f64[2,4]"}},
      {"group_norm(%0, %1, groups=2)", {"f64[2,4,3]", "f64[4]"}, {"f64[2,4,3]"}},
      {"rms_norm(%0, %1)", {"f64[2,4]", "f64[4]"}, {"f64[2,4]"}},
      {"batch_norm(%0, %1, %2, %3, %4)",
       {"f64[2,2,2]", "f64[2]", "f64[2] 0.5 2", "f64[2]", "f64[2]"},
       {"f64[2,2,2]"}},
      {"attention(%0, %1, %2, causal=true)", {"f64[2,3,2]", "f64[2,3,2]", "f64[2,3,1]"}, {"f64[2,3,1]"}},
      {"attention(%0, %1, %2, %3)",
       {"f64[2,2]", "f64[3,2]", "f64[3,1]", "bool[2,3] 0 0 0 1 0 1"},
       {"f64[2,1]"}},
      {"attention(%0, %1, %2)", {"f64[4,2,2]", "f64[2,3,2]", "f64[2,3,1]"}, {"f64[4,2,1]"}},
  });
}

TEST(Gradients, FlowThroughSharedValuesAndUnusedInputs) {
  const auto graph = parse(R"(graph g(%x: f64[3], %y: f64[3], %n: i64[3]) {
  %1 = sin(%x) : f64[3]
  %2 = mul(%1, %x) : f64[3]
  %3 = mul(%2, %1) : f64[3]
  return %3
})");
  const auto with_gradient = gradient_graph(*graph);
  verify(*with_gradient);
  ASSERT_EQ(with_gradient->output_names, (std::vector<std::string>{"out", "d_x", "d_y"}));
  const std::vector inputs = {tensor("f64[3] 0.5 1 2"), tensor("f64[3] 1"), tensor("i64[3] 1")};
  const auto outputs = evaluate(*with_gradient, inputs);
  for (std::int64_t i = 0; i < 3; ++i) {  // x sin^2 x
    const double x = inputs[0].get_double(std::span(&i, 1)), s = std::sin(x);
    EXPECT_NEAR(outputs[1].get_double(std::span(&i, 1)), s * s + 2 * x * s * std::cos(x), 1e-12);
    EXPECT_EQ(outputs[2].get_double(std::span(&i, 1)), 0);
  }
}

TEST(Gradients, SayWhichOperatorHasNone) {
  const auto graph = graph_of("cumprod(%0)", {"f64[3]"}, {"f64[3]"});
  try {
    gradient_graph(*graph);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "cumprod has no gradient");
    EXPECT_EQ(e.code(), Exit::unsupported);
  }
}

// A primitive without one does not compile; digamma says that it has none.
TEST(Derivatives, OfEveryPrimitiveAreKnownOrRefused) {
  for (const PrimInfo& primitive : prim_table) {
    if (primitive.kind == PrimKind::select || primitive.kind == PrimKind::cast) continue;
    std::vector<Expr> operands;
    for (int i = 0; i < primitive.arity; ++i) operands.push_back(Expr::input(i));
    const Expr call = Expr::of(primitive.prim, operands);
    if (primitive.prim == Prim::digamma)
      EXPECT_THROW(derivative(call, 0), Error);
    else
      EXPECT_NO_THROW(derivative(call, 0)) << primitive.name;
  }
}

TEST(Derivatives, AreSimplified) {
  const Expr x = Expr::input(0), y = Expr::input(1);
  EXPECT_TRUE(derivative(x + y, 0).is_constant(1));
  EXPECT_TRUE(derivative(x * 3 + 7, 0).is_constant(3));
  EXPECT_TRUE(derivative(floor(x), 0).is_constant(0));
  EXPECT_TRUE(derivative(x * y, 2).is_constant(0));
  EXPECT_TRUE(derivative(-(x - y), 1).is_constant(1));
  EXPECT_EQ(derivative(max(x, 0), 0).node().prim, Prim::select);
}

}  // namespace
}  // namespace tenon::test
