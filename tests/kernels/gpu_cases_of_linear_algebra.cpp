// Linear algebra: each function, with its numbers in shared and in global memory, on batches of sizes that
// fill panels and sizes that do not. What is expected is what the reference gives.
#include "base/matrix_exp_halves.h"
#include "ir/evaluate.h"
#include "ir/parse.h"
#include "kernels/gpu/matrix_source.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t matrices = 2;

struct Buffer {
  std::string name;
  DType dtype;
  std::int64_t rows, columns;
  std::string role;  // "input" of the graph, or "result" of it
};

struct Program {
  std::string header, call, graph;  // graph: the nodes, of inputs by name, and what they return
  std::vector<Buffer> buffers;
  std::int64_t words, columns = 0, parts = 1;  // of a block
  bool in_shared = true, may_fault = false;
};

Tensor tensor_of(const Buffer& b, const std::vector<std::byte>& bytes) {
  Tensor t = Tensor::empty(b.dtype, {matrices, b.rows, b.columns});
  std::memcpy(t.mutable_data<std::byte>(), bytes.data(), bytes.size());
  return t;
}

/// Random numbers; square matrices have a large diagonal.
std::vector<std::byte> numbers_of(const Buffer& b, unsigned seed) {
  std::vector<std::byte> bytes = random_buffer(b.dtype, matrices * b.rows * b.columns, seed);
  if (!is_float(b.dtype))  // pivots, each of which names the next row
    for (std::int64_t k = 0; k < matrices * b.columns; ++k)
      write_number(bytes.data(), b.dtype, k, {.whole = std::min(b.columns, k % b.columns + 2)});
  for (std::int64_t k = 0; b.rows == b.columns && k < matrices * b.rows; ++k)
    write_number(bytes.data(), b.dtype, k * b.columns + k % b.rows,
                 {.real = 4.0 * static_cast<double>(b.rows) + static_cast<double>(k)});
  return bytes;
}

template <class... Numbers>
std::vector<std::byte> fields(Numbers... numbers) {
  return bytes_of(std::vector<std::int64_t>{numbers...});
}

void expect_results(GpuCase& c, const Program& p) {
  std::string parameters;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    if (p.buffers[i].role != "input") continue;
    inputs.push_back(tensor_of(p.buffers[i], c.buffers[i]));
    parameters += fmt::format("{}%{}: {}", parameters.empty() ? "" : ", ", p.buffers[i].name,
                              inputs.back().type_string());
  }
  const auto graph = parse(fmt::format("graph g({}) {{\n  {}\n}}\n", parameters, p.graph));
  for (const auto& node : graph->body().nodes()) c.operators.emplace_back(node->op().info().name);
  const std::vector<Tensor> results = evaluate(*graph, inputs);
  c.expected = c.buffers;
  std::size_t next = 0;
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    if (p.buffers[i].role != "result") continue;
    const Tensor result = results.at(next++).contiguous();
    std::memcpy(c.expected[i].data(), result.data<std::byte>(), c.expected[i].size());
  }
}

GpuCase matrix_case(const std::string& name, const Program& p) {
  MatrixProgram program{
      .header = p.header, .call = p.call, .in_shared = p.in_shared, .may_fault = p.may_fault};
  GpuCase c{.name = "matrix " + name};
  GpuLaunch launch{
      .kernel = "on_matrices", .grid = {matrices * p.parts, 1, 1}, .block = p.words > 1024 ? 256 : 64};
  unsigned seed = 20;
  const auto add = [&](std::vector<std::byte> bytes, DType dtype) {
    c.buffers.push_back(std::move(bytes));
    c.dtypes.push_back(dtype);
  };
  for (const Buffer& b : p.buffers) {
    const bool given = b.role == "input";
    program.buffers.push_back({b.name, b.dtype, !given});
    add(given ? numbers_of(b, seed++)
              : std::vector<std::byte>(static_cast<std::size_t>(matrices * b.rows * b.columns) *
                                       size_of(b.dtype)),
        b.dtype == DType::c64 ? DType::f32 : b.dtype);
    launch.arguments.push_back(fields(b.rows, b.columns, b.rows * b.columns, b.columns, std::int64_t{1}));
  }
  if (!p.in_shared)
    add(std::vector<std::byte>(static_cast<std::size_t>(matrices * p.parts * p.words) * 8), DType::f64);
  if (p.may_fault) add(std::vector<std::byte>(24), DType::i64);
  launch.arguments.push_back(fields(matrices * p.parts, p.parts, p.columns, p.words));
  if (p.in_shared) launch.shared_bytes = p.words * 8;
  launch.source = matrix_source(program);
  c.launches.push_back(std::move(launch));
  expect_results(c, p);
  if (!p.in_shared) c.expected[p.buffers.size()].clear();
  return c;
}

void add_systems(std::vector<GpuCase>& cases, DType t, std::int64_t n, bool in_shared) {
  const std::string suffix =
      fmt::format(" {}{}", t == DType::f32 ? "f32" : "f64", in_shared ? "" : " in memory");
  const std::int64_t square = matrix_words(n, n), columns = 5;
  const auto add = [&](const std::string& name, Program p) {
    p.in_shared = in_shared;
    cases.push_back(matrix_case(name + suffix, p));
  };
  add("cholesky", {.header = "triangular",
                   .call = "factor_cholesky(x, l, memory, fault)",
                   .graph = "%1 = cholesky(%x) return %1",
                   .buffers = {{"x", t, n, n, "input"}, {"l", t, n, n, "result"}},
                   .words = square,
                   .may_fault = true});
  add("triangular solve",
      {.header = "triangular",
       .call = "solve_triangular(a, b, x, true, false, part, memory)",
       .graph = "%1 = triangular_solve(%a, %b, upper=true) return %1",
       .buffers = {{"a", t, n, n, "input"}, {"b", t, n, 9, "input"}, {"x", t, n, 9, "result"}},
       .words = matrix_words(n, columns),
       .columns = columns,
       .parts = 2});
  add("lu", {.header = "lu",
             .call = "factor_lu(x, packed, pivots, memory)",
             .graph = "%1, %2 = lu(%x) return %1, %2",
             .buffers = {{"x", t, n, n + 3, "input"},
                         {"packed", t, n, n + 3, "result"},
                         {"pivots", DType::i32, 1, n, "result"}},
             .words = matrix_words(n, n + 3)});
  add("determinant", {.header = "lu",
                      .call = "find_determinant(x, value, sign, size, memory)",
                      .graph = "%1, %2, %3 = determinant(%x) return %1, %2, %3",
                      .buffers = {{"x", t, n, n, "input"},
                                  {"value", t, 1, 1, "result"},
                                  {"sign", t, 1, 1, "result"},
                                  {"size", t, 1, 1, "result"}},
                      .words = square});
  add("qr", {.header = "householder",
             .call = "find_reflections(x, packed, factors, memory)",
             .graph = "%1, %2 = reflections(%x) return %1, %2",
             .buffers = {{"x", t, n + 3, n, "input"},
                         {"packed", t, n + 3, n, "result"},
                         {"factors", t, 1, n, "result"}},
             .words = matrix_words(n + 3, n) + n});
  add("ldl", {.header = "ldl",
              .call = "factor_ldl(x, factor, pivots, memory, fault)",
              .graph = "%1, %2 = ldl_factor(%x) return %1, %2",
              .buffers = {{"x", t, n, n, "input"},
                          {"factor", t, n, n, "result"},
                          {"pivots", DType::i32, 1, n, "result"}},
              .words = square + 2 * n,
              .may_fault = true});
}

void add_spectra(std::vector<GpuCase>& cases, DType t, std::int64_t n, bool in_shared) {
  const std::string suffix =
      fmt::format(" {}{}", t == DType::f32 ? "f32" : "f64", in_shared ? "" : " in memory");
  const std::int64_t square = matrix_words(n, n);
  const auto add = [&](const std::string& name, Program p) {
    p.in_shared = in_shared;
    cases.push_back(matrix_case(name + suffix, p));
  };
  add("eigh",
      {.header = "jacobi",
       .call = "find_eigh(x, values, vectors, memory, fault)",
       .graph = "%1, %2 = eigh(%x) return %1, %2",
       .buffers = {{"x", t, n, n, "input"}, {"values", t, 1, n, "result"}, {"vectors", t, n, n, "result"}},
       .words = 2 * square + n + 1,
       .may_fault = true});
  add("svd", {.header = "jacobi",
              .call = "find_svd(x, u, s, v, memory, fault)",
              .graph = "%1, %2, %3 = svd(%x, complete=true) return %1, %2, %3",
              .buffers = {{"x", t, n + 2, n, "input"},
                          {"u", t, n + 2, n + 2, "result"},
                          {"s", t, 1, n, "result"},
                          {"v", t, n, n, "result"}},
              .words = matrix_words(n, n + 2) + square + matrix_words(n + 2, n + 2) + 2 * n + 2,
              .may_fault = true});
}

/// What the others leave out: the second launches, and what has one.
void add_rest(std::vector<GpuCase>& cases) {
  constexpr std::int64_t n = 18, columns = 5;
  constexpr DType t = DType::f64;
  const std::string list = fmt::format("reshape(%pivots, shape=[{},{}])", matrices, n);
  const Buffer b{"b", t, n, 9, "input"}, x{"x", t, n, 9, "result"},
      pivots{"pivots", DType::i32, 1, n, "input"};
  const auto add = [&](const std::string& name, const Program& p) { cases.push_back(matrix_case(name, p)); };
  add("solve from factors", {.header = "lu",
                             .call = "solve_factored(packed, pivots, b, x, part, memory)",
                             .graph = "%1 = " + list +
                                      " %2 = pivot_rows(%1, rows=18) %3 = reshape(%2, shape=[2,18,1]) "
                                      "%4 = expand(%3, shape=[2,18,9]) %5 = gather(%b, %4, axis=1) "
                                      "%6 = triangular_solve(%packed, %5, unit=true) "
                                      "%7 = triangular_solve(%packed, %6, upper=true) return %7",
                             .buffers = {{"packed", t, n, n, "input"}, pivots, b, x},
                             .words = matrix_words(n, columns),
                             .columns = columns,
                             .parts = 2});
  add("ldl solve", {.header = "ldl",
                    .call = "solve_ldl(a, pivots, b, x, part, memory, fault)",
                    .graph = "%1 = " + list + " %2 = ldl_solve(%a, %1, %b) return %2",
                    .buffers = {{"a", t, n, n, "input"}, pivots, b, x},
                    .words = matrix_words(n, columns),
                    .columns = columns,
                    .parts = 2,
                    .may_fault = true});
  add("pivot rows", {.header = "lu",
                     .call = "list_pivot_rows(pivots, rows, fault)",
                     .graph = "%1 = " + list + " %2 = pivot_rows(%1, rows=20) return %2",
                     .buffers = {pivots, {"rows", DType::i64, 1, 20, "result"}},
                     .words = 0,
                     .may_fault = true});
  add("product of reflections",
      {.header = "householder",
       .call = "multiply_reflections(vectors, factors, q, part, memory)",
       .graph = "%1 = reshape(%factors, shape=[2,2]) "
                "%2 = reflection_product(%vectors, %1, complete=true) return %2",
       .buffers = {{"vectors", t, n, 2, "input"}, {"factors", t, 1, 2, "input"}, {"q", t, n, n, "result"}},
       .words = matrix_words(n, 10),
       .columns = 10,
       .parts = 2});
  add("exponential", {.header = "matrix_exp",
                      .call = "exponentiate(x, y, memory)",
                      .graph = "%1 = matrix_exp(%x) return %1",
                      .buffers = {{"x", t, 6, 6, "input"}, {"y", t, 6, 6, "result"}},
                      .words = 4 * matrix_words(6, 6)});
  for (const DType half : {DType::f16, DType::bf16})
    add(fmt::format("exponential {}", name(half)),
        {.header = "matrix_exp_halves",
         .call = "exponentiate_halves(x, y, false, memory)",
         .graph = "%1 = matrix_exp(%x) return %1",
         .buffers = {{"x", half, 6, 6, "input"}, {"y", half, 6, 6, "result"}},
         .words = (1 + matrices_of_exponential) * matrix_words(6, 6)});
  add("eig", {.header = "eig",
              .call = "find_eig(x, values, vectors, memory, fault)",
              .graph = "%1, %2 = eig(%x) return %1, %2",
              .buffers = {{"x", DType::f32, 12, 12, "input"},
                          {"values", DType::c64, 1, 12, "result"},
                          {"vectors", DType::c64, 12, 12, "result"}},
              .words = 2 * matrix_words(12, 12) + 4 * 12 * 12,
              .may_fault = true});
}

}  // namespace

std::vector<GpuCase> linear_algebra_gpu_cases() {
  std::vector<GpuCase> cases;
  add_systems(cases, DType::f32, 19, true);
  add_systems(cases, DType::f64, 37, false);
  add_spectra(cases, DType::f32, 11, true);
  add_spectra(cases, DType::f64, 14, false);
  add_rest(cases);
  return cases;
}

}  // namespace tenon::gpu
