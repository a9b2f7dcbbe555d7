// Factorisations and systems of linear equations on a GPU.
#include <algorithm>
#include <span>

#include "base/matrix_exp_halves.h"
#include "ir/ops/linalg.h"
#include "runtime/gpu/matrices.h"

namespace tenon::gpu {
namespace {

/// Rows and columns of the first operand.
struct Sides {
  std::int64_t rows = 0, columns = 0;
  explicit Sides(const Node& node) {
    const Index shape = eval(node.input(0)->shape(), {});
    columns = shape.back();
    if (shape.size() > 1) rows = shape[shape.size() - 2];
  }
  std::int64_t shorter() const { return std::min(rows, columns); }
  std::int64_t longer() const { return std::max(rows, columns); }
  std::int64_t words() const { return matrix_words(rows, columns); }
};

std::int64_t last_size(const Value* value) { return eval(value->shape(), {}).back(); }

auto saying(std::string_view what) {
  return [what](const Fault&) { return error("{}", what); };
}
Error bad_pivot(const Fault& fault) { return error("pivot {} of {} rows", fault.value, fault.detail); }
constexpr std::string_view not_finite = "the matrix holds an infinity or NaN";

void emit_cholesky(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  m.emit({.header = "triangular",
          .call = "factor_cholesky(x, l, memory, fault)",
          .operands = {m.read("x", 0), m.result("l", 0)},
          .words = Sides(group.node()).words(),
          .complaint = saying("cholesky: the matrix is not positive definite")});
}

void emit_triangular_solve(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const MatrixNode m(planner, node);
  const auto* op = node.as<TriangularSolve>();
  m.emit({.header = "triangular",
          .call = fmt::format("solve_triangular(a, b, x, {}, {}, part, memory)", op->upper, op->unit),
          .operands = {m.read("a", 0), m.read("b", 1), m.result("x", 0)},
          .words = Sides(node).rows,
          .to_divide = last_size(node.input(1))});
}

void emit_solve(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const MatrixNode m(planner, node);
  const Sides a(node);
  const MatrixOperand packed = m.scratch("packed", DType::f64, a.rows, a.columns),
                      pivots = m.scratch("pivots", DType::i32, 1, a.rows);
  m.prepare({.header = "lu",
             .call = "factor_regular(x, packed, pivots, memory, fault)",
             .operands = {m.read("x", 0), packed, pivots},
             .words = a.words(),
             .complaint = saying("solve: the matrix is singular")});
  m.emit({.header = "lu",
          .call = "solve_factored(packed, pivots, b, x, part, memory)",
          .operands = {m.read_again(packed), m.read_again(pivots), m.read("b", 1), m.result("x", 0)},
          .words = a.rows,
          .to_divide = last_size(node.input(1))});
}

void emit_determinant(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  m.emit(
      {.header = "lu",
       .call = "find_determinant(x, value, sign, size, memory)",
       .operands = {m.read("x", 0), m.result("value", 0, 0), m.result("sign", 1, 0), m.result("size", 2, 0)},
       .words = Sides(group.node()).words()});
}

void emit_lu(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  m.emit({.header = "lu",
          .call = "factor_lu(x, packed, pivots, memory)",
          .operands = {m.read("x", 0), m.result("packed", 0), m.result("pivots", 1, 1)},
          .words = Sides(group.node()).words()});
}

void emit_pivot_rows(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node(), 1);
  m.emit({.header = "lu",
          .call = "list_pivot_rows(pivots, rows, fault)",
          .operands = {m.read("pivots", 0, 1), m.result("rows", 0, 1)},
          .complaint = bad_pivot});
}

void emit_reflections(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  const Sides x(group.node());
  m.emit({.header = "householder",
          .call = "find_reflections(x, packed, factors, memory)",
          .operands = {m.read("x", 0), m.result("packed", 0), m.result("factors", 1, 1)},
          .words = x.words() + x.shorter()});
}

MatrixLaunch reflection_product(MatrixOperand vectors, MatrixOperand factors, MatrixOperand q) {
  const std::int64_t rows = q.tensor.shape()[1], columns = q.tensor.shape()[2];
  return {.header = "householder",
          .call = "multiply_reflections(vectors, factors, q, part, memory)",
          .operands = {std::move(vectors), std::move(factors), std::move(q)},
          .words = rows,
          .to_divide = columns};
}

void emit_reflection_product(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  m.emit(reflection_product(m.read("vectors", 0), m.read("factors", 1, 1), m.result("q", 0)));
}

void emit_qr(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const MatrixNode m(planner, node);
  const Sides x(node);
  const MatrixOperand packed = m.scratch("vectors", DType::f64, x.rows, x.columns),
                      factors = m.scratch("factors", DType::f64, 1, x.shorter());
  m.prepare({.header = "householder",
             .call = "factor_qr(x, r, vectors, factors, memory)",
             .operands = {m.read("x", 0), m.result("r", 1), packed, factors},
             .words = x.words() + x.shorter()});
  m.emit(reflection_product(m.read_again(packed), m.read_again(factors), m.result("q", 0)));
}

void emit_svd(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  const Sides x(group.node());
  const std::int64_t rows = group.node().as<Svd>()->complete ? x.longer() : x.shorter();
  m.emit({.header = "jacobi",
          .call = "find_svd(x, u, s, v, memory, fault)",
          .operands = {m.read("x", 0), m.result("u", 0), m.result("s", 1, 1), m.result("v", 2)},
          .words = matrix_words(x.shorter(), x.longer()) + matrix_words(x.shorter(), x.shorter()) +
                   matrix_words(rows, x.longer()) + x.shorter() + rows,
          .complaint = saying(not_finite)});
}

void emit_eigh(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  const Sides x(group.node());
  m.emit({.header = "jacobi",
          .call = "find_eigh(x, values, vectors, memory, fault)",
          .operands = {m.read("x", 0), m.result("values", 0, 1), m.result("vectors", 1)},
          .words = 2 * x.words() + x.rows + 1,
          .complaint = saying(not_finite)});
}

void emit_eig(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  const Sides x(group.node());
  m.emit({.header = "eig",
          .call = "find_eig(x, values, vectors, memory, fault)",
          .operands = {m.read("x", 0), m.result("values", 0, 1), m.result("vectors", 1)},
          .words = 2 * x.words() + 4 * x.rows * x.rows,
          .complaint = [](const Fault& f) {
            return error("{}", f.value == 0 ? not_finite : "the eigenvalues of the matrix do not converge");
          }});
}

void emit_ldl_factor(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  const Sides x(group.node());
  m.emit({.header = "ldl",
          .call = "factor_ldl(x, factor, pivots, memory, fault)",
          .operands = {m.read("x", 0), m.result("factor", 0), m.result("pivots", 1, 1)},
          .words = x.words() + 2 * x.rows,
          .complaint = saying("ldl_factor: the matrix is singular")});
}

void emit_ldl_solve(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const MatrixNode m(planner, node);
  m.emit({.header = "ldl",
          .call = "solve_ldl(a, pivots, b, x, part, memory, fault)",
          .operands = {m.read("a", 0), m.read("pivots", 1, 1), m.read("b", 2), m.result("x", 0)},
          .words = Sides(node).rows,
          .to_divide = last_size(node.input(2)),
          .complaint = bad_pivot});
}

void emit_matrix_exp(Planner& planner, const Group& group) {
  const MatrixNode m(planner, group.node());
  const Sides x(group.node());
  std::vector<MatrixOperand> operands{m.read("x", 0), m.result("y", 0)};
  if (size_of(group.node().output()->dtype()) != 2)
    return m.emit({.header = "matrix_exp",
                   .call = "exponentiate(x, y, memory)",
                   .operands = std::move(operands),
                   .words = 4 * x.words()});
  const bool is_alone = operands[0].tensor.shape()[0] == 1;
  m.emit({.header = "matrix_exp_halves",
          .call = fmt::format("exponentiate_halves(x, y, {}, memory)", is_alone),
          .operands = std::move(operands),
          .words = (1 + matrices_of_exponential) * x.words()});
}

struct Rule {
  const OpInfo* op;
  std::string_view kernel;
  void (*emit)(Planner&, const Group&);
  double cost = 1;  // operations, as a multiple of rows * columns * the shorter side
};

std::span<const Rule> rules() {
  static const Rule all[] = {
      {&op_info<Cholesky>(), "cholesky", emit_cholesky},
      {&op_info<TriangularSolve>(), "substitution", emit_triangular_solve},
      {&op_info<Solve>(), "lu solve", emit_solve},
      {&op_info<Determinant>(), "lu determinant", emit_determinant},
      {&op_info<Lu>(), "lu", emit_lu},
      {&op_info<PivotRows>(), "pivot rows", emit_pivot_rows},
      {&op_info<Reflections>(), "householder", emit_reflections, 2},
      {&op_info<ReflectionProduct>(), "reflections", emit_reflection_product, 2},
      {&op_info<Qr>(), "householder qr", emit_qr, 4},
      {&op_info<Svd>(), "jacobi svd", emit_svd, 50},
      {&op_info<Eigh>(), "jacobi eigh", emit_eigh, 50},
      {&op_info<Eig>(), "qr eig", emit_eig, 50},
      {&op_info<LdlFactor>(), "ldl", emit_ldl_factor},
      {&op_info<LdlSolve>(), "ldl solve", emit_ldl_solve},
      {&op_info<MatrixExp>(), "power series", emit_matrix_exp, 50},
  };
  return all;
}

/// Do a block's counts of its numbers fit 31 bits?
bool fits(const Node& node) {
  constexpr std::int64_t most_words = std::int64_t{1} << 28;
  const Sides sides(node);
  std::int64_t largest = matrix_words(sides.longer(), sides.longer());
  for (std::size_t i = 1; i < node.inputs().size(); ++i)
    largest = std::max(largest, std::max<std::int64_t>(1, sides.rows) * last_size(node.input(i)));
  return largest <= most_words;
}

std::vector<Candidate> lower_linear_algebra(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto rule =
      std::find_if(rules().begin(), rules().end(), [&](const Rule& r) { return r.op == &node.op().info(); });
  if (rule == rules().end() || !fits(node)) return {};
  Work work;
  for (const Value* value : node.inputs()) work.bytes += bytes_of(value->type());
  for (std::size_t i = 0; i < node.num_outputs(); ++i) work.bytes += bytes_of(node.output(i)->type());
  work.flops = rule->cost * static_cast<double>(numel(node.input(0)->shape()).value()) *
               static_cast<double>(Sides(node).shorter());
  return {{{.kernel = std::string(rule->kernel),
            .work = work,
            .seconds = planner.estimate(work.flops, work.bytes)},
           rule->emit}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_linear_algebra_lowerings() {
  std::vector<OpLowering> lowerings;
  for (const gpu::Rule& rule : gpu::rules())
    lowerings.push_back({.op = rule.op, .lower = gpu::lower_linear_algebra, .alone = true});
  return lowerings;
}

}  // namespace tenon
