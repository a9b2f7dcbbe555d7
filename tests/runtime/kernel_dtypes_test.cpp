// Operators that have a kernel on the CPU have it for every dtype that they take: the interpreter runs none
// for its dtype alone.
#include <set>

#include "ir/op.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

/// One node, whose T is each dtype in turn.
struct Example {
  const char *parameters, *call, *results;
};

constexpr Example examples[] = {
    {"%x: T[90,40]", "first_nonzero(%x, size=70)", "i64[70,2]"},
    {"%x: T[90,40], %m: bool[90,40], %s: T[3600]", "masked_scatter(%x, %m, %s)", "T[90,40]"},
    {"%x: T[2,6,9,8], %w: T[4,3,3,3]", "conv(%x, %w, groups=2)", "T[2,4,7,6]"},
    {"%x: T[2,6,9,8], %w: T[6,2,2,2]", "conv_transpose(%x, %w)", "T[2,2,10,9]"},
    {"%x: T[90,40], %i: i64[70]", "index_select(%x, %i)", "T[70,40]"},
    {"%x: T[90,40], %i: i64[70,40]", "gather(%x, %i)", "T[70,40]"},
    {"%x: T[90,40], %i: i64[70], %j: i64[70]", "index(%x, %i, %j, axes=[0,1])", "T[70]"},
    {"%x: T[90,40], %i: i64[70,40], %y: T[70,40]", "scatter(%x, %i, %y)", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70,40], %y: T[70,40]", "scatter(%x, %i, %y, reduce=\"sum\")", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70,40], %y: T[70,40]", "scatter(%x, %i, %y, reduce=\"prod\")", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70,40], %y: T[70,40]", "scatter(%x, %i, %y, reduce=\"amax\")", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70,40], %y: T[70,40]", "scatter(%x, %i, %y, reduce=\"amin\")", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70,40], %y: T[70,40]", "scatter(%x, %i, %y, reduce=\"mean\")", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70], %y: T[70,40]", "index_put(%x, %y, %i, axes=0)", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70], %y: T[70,40]", "index_put(%x, %y, %i, axes=0, accumulate=true)", "T[90,40]"},
    {"%x: T[90,40], %i: i64[70], %y: T[70,40]", "index_add(%x, %i, %y)", "T[90,40]"},
    {"%x: T[700]", "one_hot(%x, classes=9)", "i64[700,9]"},
    {"%x: T[2,6,9,8]", "interpolate(%x, output=[18,20])", "T[2,6,18,20]"},
    {"%x: T[2,6,9,8]", "interpolate(%x, mode=\"linear\", output=[18,20])", "T[2,6,18,20]"},
    {"%x: T[2,6,9,8]", "interpolate(%x, mode=\"cubic\", output=[18,20])", "T[2,6,18,20]"},
    {"%x: T[2,6,9,8]", "interpolate_antialiased(%x, output=[5,5])", "T[2,6,5,5]"},
    {"%x: T[2,6,9,8], %g: T[2,20,20,2]", "grid_sample(%x, %g)", "T[2,6,20,20]"},
    {"%a: T[9,9]", "matrix_exp(%a)", "T[9,9]"},
    {"%a: T[9,9]", "cholesky(%a)", "T[9,9]"},
    {"%a: T[9,9]", "determinant(%a)", "T[], T[], T[]"},
    {"%a: T[9,9], %b: T[9,3]", "solve(%a, %b)", "T[9,3]"},
    {"%a: T[9,9], %b: T[9,3]", "triangular_solve(%a, %b)", "T[9,3]"},
    {"%a: T[9,9]", "qr(%a)", "T[9,9], T[9,9]"},
    {"%a: T[9,9]", "lu(%a)", "T[9,9], i32[9]"},
    {"%a: T[9,9]", "reflections(%a)", "T[9,9], T[9]"},
    {"%a: T[9,9], %t: T[9]", "reflection_product(%a, %t)", "T[9,9]"},
    {"%a: T[9,9]", "eigh(%a)", "T[9], T[9,9]"},
    {"%a: T[9,9]", "svd(%a)", "T[9,9], T[9], T[9,9]"},
    {"%a: T[9,9]", "ldl_factor(%a)", "T[9,9], i32[9]"},
    {"%a: T[9,9], %p: i32[9], %b: T[9,3]", "ldl_solve(%a, %p, %b)", "T[9,3]"},
    {"%q: T[2,3,20,8], %k: T[2,3,30,8], %v: T[2,3,30,8]", "attention(%q, %k, %v)", "T[2,3,20,8]"},
    {"%a: T[40,30], %b: T[30,50]", "matmul(%a, %b)", "T[40,50]"},
    {"%a: T[40,30], %b: T[30,1]", "matmul(%a, %b)", "T[40,1]"},
    {"%a: T[40,30], %b: T[50,30], %c: T[50]", "linear(%a, %b, %c)", "T[40,50]"},
    {"%a: T[40,30], %b: T[30,50], %c: T[40,50]", "fused { matmul(%a, %b); add(%c, _) }", "T[40,50]"},
    {"%x: T[2,6,19,18]", "max_pool(%x, kernel=3)", "T[2,6,17,16]"},
    {"%x: T[2,6,19,18]", "max_pool_indices(%x, kernel=3)", "T[2,6,17,16], i64[2,6,17,16]"},
    {"%x: T[2,6,19,18]", "avg_pool(%x, kernel=3)", "T[2,6,17,16]"},
    {"%x: T[2,6,19,18]", "adaptive_avg_pool(%x, output=[7,5])", "T[2,6,7,5]"},
    {"%x: T[2,6,19,18]", "adaptive_max_pool(%x, output=[7,5])", "T[2,6,7,5]"},
    {"%x: T[2,6,19,18]", "adaptive_max_pool_indices(%x, output=[7,5])", "T[2,6,7,5], i64[2,6,7,5]"},
    {"%x: T[60,70]", "cumsum(%x, axis=1)", "T[60,70]"},
    {"%x: T[60,70]", "cumprod(%x, axis=0)", "T[60,70]"},
    {"%x: T[60,70]", "cummax(%x, axis=1)", "T[60,70], i64[60,70]"},
    {"%x: T[60,70]", "cummin(%x, axis=0)", "T[60,70], i64[60,70]"},
    {"%x: T[60,70]", "logcumsumexp(%x, axis=0)", "T[60,70]"},
    {"%x: T[60,70]", "amax(%x, axes=1)", "T[60]"},
    {"%x: T[60,70]", "argmax(%x, axis=0)", "i64[70]"},
    {"%x: T[60,70]", "sum(%x, axes=0)", "T[70]"},
    {"%x: T[60,70]", "prod(%x, axes=0)", "T[70]"},
    {"%x: T[60,70], %y: T[60,30]", "concat(%x, %y, axis=1)", "T[60,100]"},
    {"%x: T[60,70]", "pad(%x, pads=[1,2,3,4])", "T[64,76]"},
    {"%x: T[60,70]", "sort(%x, axis=1)", "T[60,70], i64[60,70]"},
    {"%x: T[60,70]", "topk(%x, k=3, axis=1)", "T[60,3], i64[60,3]"},
    {"%x: T[60,70]", "mode(%x, axis=1)", "T[60], i64[60]"},
    {"%x: T[300], %y: T[500]", "search_sorted(%x, %y)", "i64[500]"},
    {"%x: T[60,70], %y: T[60,70]", "fused { shift_left(%x, %y) }", "T[60,70]"},
    {"%x: T[60,70], %y: T[60,70]", "fused { shift_right(%x, %y) }", "T[60,70]"},
    {"%x: T[70], %y: T[500]", "search_sorted(%x, %y)", "i64[500]"},
    {"%x: T[60,70], %y: T[60,70]", "special(%x, %y, function=\"zeta\")", "T[60,70]"},
    {"%x: T[60,70], %y: T[60,70]", "gcd(%x, %y)", "T[60,70]"},
};

constexpr DType dtypes[] = {DType::boolean, DType::u8,  DType::i8,  DType::u16, DType::i16,
                            DType::u32,     DType::i32, DType::u64, DType::i64, DType::f16,
                            DType::bf16,    DType::f32, DType::f64};

std::string text_of(const Example& e, DType dtype) {
  const std::string_view results = e.results;
  std::string values = "%1";
  int count = 1;
  for (std::size_t at = results.find(", "); at != results.npos; at = results.find(", ", at + 1))
    values += fmt::format(", %{}", ++count);
  const std::string text = fmt::format("graph g({}) {{\n  {} = {} : {}\n  return {}\n}}\n", e.parameters,
                                       values, e.call, results, values);
  return std::regex_replace(text, std::regex(R"(\bT\[)"), std::string(name(dtype)) + "[");
}

/// Null: the operator does not take the dtype, or means something of its own for it: exponentials of matrices
/// of 16-bit floats (ir/ops/matrix_exp_halves.h).
std::shared_ptr<Graph> graph_for(const Example& e, DType dtype) {
  if (is_small_float(dtype) && std::string_view(e.call).starts_with("matrix_exp")) return nullptr;
  try {
    return graph_of(text_of(e, dtype));
  } catch (const Error&) { return nullptr; }
}

/// Not every matrix has a factor, or one alone (linear_algebra_test.cpp).
bool is_of_matrices(const Example& e) { return std::string_view(e.parameters).starts_with("%a: T[9,9]"); }

/// Random ones; a row that is searched is sorted.
std::vector<Tensor> inputs_for(const Example& e, const Graph& graph) {
  auto inputs = inputs_of(graph, {});
  if (std::string_view(e.call).starts_with("search_sorted"))
    for (std::int64_t i = 0, n = inputs[0].numel(); i < n; ++i) inputs[0].set_int(Index{i}, 4 * i / n);
  return inputs;
}

TEST(KernelDtypes, EveryOneThatAnOperatorTakes) {
  if (default_device().name != "cpu") GTEST_SKIP() << "GPUs say for themselves what they have";
  for (const Example& e : examples) {
    int taken = 0;
    for (const DType dtype : dtypes) {
      const auto graph = graph_for(e, dtype);
      if (!graph) continue;
      ++taken;
      Session session(graph);
      SCOPED_TRACE(text_of(e, dtype));
      const auto inputs = inputs_for(e, *graph);
      expect_no_reference(session, inputs);
      if (!is_of_matrices(e)) expect_same_on(text_of(e, dtype), inputs, is_small_float(dtype) ? 2e-2 : 2e-5);
    }
    EXPECT_GT(taken, 0) << text_of(e, DType::f32);
  }
}

/// Operators with kernels whose dtype is no question.
const std::set<std::string_view> others = {
    "if",          "loop",     "fused",                // they run plans
    "bitcast",     "complex",  "real",        "imag",  // they move bytes
    "fft",         "real_fft", "real_of_fft",          // of complex numbers (fft_test.cpp)
    "pivot_rows",                                      // of i32
    "random_bits",                                     // it reads none
    "nonzero",     "unique",   "repeat_each",          // as large as the data says (counted_sizes_test.cpp)
};

TEST(KernelDtypes, EveryOperatorWithAKernelIsAnExample) {
  std::set<std::string> named;
  for (const Example& e : examples) {
    const std::string_view call = e.call;
    named.emplace(call.substr(0, call.find('(')));
  }
  for (const OpInfo* op : all_ops())
    if (cpu_device().runs(op->make()) == "kernel") {
      EXPECT_TRUE(named.contains(std::string(op->name)) || others.contains(op->name)) << op->name;
    }
}

}  // namespace
}  // namespace tenon::testing
