// Factorisations of matrices and systems of linear equations: a matrix is one thread's.
#include "kernels/cpu/factor.h"

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>

#include "ir/flops.h"
#include "ir/ops/linalg.h"
#include "kernels/cpu/first_bad.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

struct Rule {
  const OpInfo* op;
  std::string_view kernel;
  const cpu::PerIsa<cpu::OnMatrix<float>>* on_floats;
  const cpu::PerIsa<cpu::OnMatrix<double>>* on_doubles;
  std::string_view complaint = {};

  template <class T>
  const cpu::PerIsa<cpu::OnMatrix<T>>& on_matrix() const {
    if constexpr (std::is_same_v<T, float>)
      return *on_floats;
    else
      return *on_doubles;
  }
};

std::span<const Rule> rules() {
  using namespace cpu;
  static const Rule all[] = {
      {&op_info<Cholesky>(), "cholesky", &factor_cholesky_f32, &factor_cholesky_f64,
       "cholesky: the matrix is not positive definite"},
      {&op_info<TriangularSolve>(), "substitution", &solve_triangle_f32, &solve_triangle_f64},
      {&op_info<Solve>(), "lu solve", &solve_by_lu_f32, &solve_by_lu_f64, "solve: the matrix is singular"},
      {&op_info<Determinant>(), "lu determinant", &find_determinant_f32, &find_determinant_f64},
      {&op_info<Lu>(), "lu", &factor_lu_f32, &factor_lu_f64},
      {&op_info<Reflections>(), "householder", &find_reflections_f32, &find_reflections_f64},
      {&op_info<ReflectionProduct>(), "reflections", &multiply_reflections_f32, &multiply_reflections_f64},
      {&op_info<Qr>(), "householder qr", &factor_qr_f32, &factor_qr_f64},
      {&op_info<LdlFactor>(), "ldl", &factor_ldl_f32, &factor_ldl_f64, "ldl_factor: the matrix is singular"},
      {&op_info<LdlSolve>(), "ldl solve", &solve_by_ldl_f32, &solve_by_ldl_f64},
  };
  return all;
}

const Rule& rule_of(const Node& node) {
  return *std::find_if(rules().begin(), rules().end(),
                       [&](const Rule& r) { return r.op == &node.op().info(); });
}

/// Dense matrices, or lists of numbers for each.
struct Operand {
  Address address;
  DType dtype;
  long numbers;  // of one matrix

  template <class T>
  T* of(const CpuFrame& frame, long k) const {
    return frame.at<T>(address) + k * numbers;
  }
};

template <class T>
class FactorStep : public CpuStep {
 public:
  FactorStep(const Rule& rule, const cpu::MatrixTask<T>& task, long matrices, int threads,
             std::vector<Operand> operands, std::vector<std::optional<Operand>> results)
      : rule_(rule),
        task_(task),
        matrices_(matrices),
        chunks_(std::min<long>(matrices, 8L * threads)),
        operands_(std::move(operands)),
        results_(std::move(results)) {
    faults = 1;
    room_ = cpu::matrix_room(task.rows, task.columns, task.others);
    scratch_bytes = static_cast<std::size_t>(threads * room_) * sizeof(T);
  }

  void compute(const CpuFrame& frame) const override {
    cpu::FirstBad bad;
    frame.pool.parallel_for(chunks_, [&](long chunk, int worker) {
      cpu::MatrixTask<T> task = task_;
      task.room = reinterpret_cast<T*>(frame.scratch) + worker * room_;
      for (long k = chunk * matrices_ / chunks_; k < (chunk + 1) * matrices_ / chunks_; ++k) {
        point_to_matrix(frame, k, task);
        const long row = rule_.on_matrix<T>()(task);
        if (row >= 0) bad.report(k * task.rows + row);
      }
    });
    if (bad.result() < 0) return;
    const bool names_pivot = task_of_first(frame).given_pivots != nullptr;
    frame.faults[0].report(names_pivot ? task_of_first(frame).given_pivots[bad.result()] : 0, task_.rows);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override {
    if (rule_.complaint.empty()) return error("pivot {} of {} rows", found[0].value, found[0].detail);
    return error("{}", rule_.complaint);
  }

 private:
  cpu::MatrixTask<T> task_of_first(const CpuFrame& frame) const {
    cpu::MatrixTask<T> task = task_;
    point_to_matrix(frame, 0, task);
    return task;
  }

  void point_to_matrix(const CpuFrame& frame, long k, cpu::MatrixTask<T>& task) const {
    task.a = operands_[0].of<const T>(frame, k);
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      if (operands_[i].dtype == DType::i32)
        task.given_pivots = operands_[i].of<const std::int32_t>(frame, k);
      else
        task.b = operands_[i].of<const T>(frame, k);
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i]) continue;
      if (results_[i]->dtype == DType::i32)
        task.pivots = results_[i]->of<std::int32_t>(frame, k);
      else
        task.results[i] = results_[i]->of<T>(frame, k);
    }
  }

  const Rule& rule_;
  cpu::MatrixTask<T> task_;
  long matrices_, chunks_;
  std::vector<Operand> operands_;
  std::vector<std::optional<Operand>> results_;  // those that nobody wants are not there
  long room_;
};

Index shape_of(const Value* value) { return eval(value->shape(), {}); }

template <class T>
cpu::MatrixTask<T> task_of(const Node& node) {
  const Index a = shape_of(node.input(0));
  cpu::MatrixTask<T> task{.rows = a[a.size() - 2], .columns = a.back()};
  if (node.is<Qr>() || node.is<ReflectionProduct>()) {
    task.others = shape_of(node.output(0)).back();
    if (node.is<ReflectionProduct>()) task.factors = shape_of(node.input(1)).back();
  } else if (node.inputs().size() > 1) {
    task.others = shape_of(node.inputs().back()).back();
  }
  if (const auto* op = node.as<TriangularSolve>()) {
    task.upper = op->upper;
    task.unit = op->unit;
  }
  return task;
}

template <class T>
void emit_factor(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const cpu::MatrixTask<T> task = task_of<T>(node);
  std::vector<PlannedTensor> reads, writes;
  std::vector<Operand> operands;
  std::vector<std::optional<Operand>> results;
  for (const Value* value : node.inputs()) reads.push_back(planner.dense(value));
  const long matrices = reads[0].numel() / (task.rows * task.columns);
  for (const PlannedTensor& x : reads) operands.push_back({x.address(), x.dtype(), x.numel() / matrices});
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* value = node.output(i);
    const PlannedTensor y = planner.assignment().assign(
        value, row_major(value->rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
    writes.push_back(y);
    results.push_back(Operand{y.address(), y.dtype(), y.numel() / matrices});
  }
  const bool no_logarithm = node.is<Determinant>() && node.output(2)->uses().empty();
  if (no_logarithm) results[2].reset();
  planner.emit(std::make_unique<FactorStep<T>>(rule_of(node), task, matrices, planner.threads(),
                                               std::move(operands), std::move(results)),
               node, std::move(reads), std::move(writes));
}

bool fits(const Node& node) {
  const DType dtype = node.input(0)->dtype();
  if (dtype != DType::f32 && dtype != DType::f64) return false;
  for (const Value* value : node.inputs())
    if (numel(value->shape()).value() == 0 || (value->dtype() != dtype && value->dtype() != DType::i32))
      return false;
  if (!node.is<ReflectionProduct>()) return true;
  return shape_of(node.input(1)).back() <= shape_of(node.input(0)).back();  // else the interpreter complains
}

std::vector<Candidate> lower_factor(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (!fits(node)) return {};
  Work work{.flops = flops(node)};
  double copies = 0;
  for (const Value* value : node.inputs()) {
    work.bytes += bytes_of(value->type());
    copies += planner.estimate_copy(value, [](const Strided& t) { return t.is_contiguous(); });
  }
  for (std::size_t i = 0; i < node.num_outputs(); ++i) work.bytes += bytes_of(node.output(i)->type());
  constexpr double slowness = 4;  // next to a product
  const bool is_float = node.input(0)->dtype() == DType::f32;
  return {{{.kernel = std::string(rule_of(node).kernel),
            .work = work,
            .seconds = copies + planner.estimate(slowness * work.flops, work.bytes)},
           is_float ? emit_factor<float> : emit_factor<double>}};
}

/// Rows after the exchanges of pivots.
template <class P>
class PivotRowsStep : public CpuStep {
 public:
  PivotRowsStep(const PlannedTensor& pivots, const PlannedTensor& rows)
      : pivots_(pivots.address()),
        rows_(rows.address()),
        count_(pivots.shape().back()),
        size_(rows.shape().back()),
        lists_(rows.numel() / size_) {
    faults = 1;
  }

  void compute(const CpuFrame& frame) const override {
    const P* pivots = frame.at<const P>(pivots_);
    auto* rows = frame.at<std::int64_t>(rows_);
    for (long k = 0; k < lists_; ++k, pivots += count_, rows += size_) {
      const long bad = cpu::list_pivot_rows(pivots, count_, size_, rows);
      if (bad >= 0) return frame.faults[0].report(static_cast<std::int64_t>(pivots[bad]), size_);
    }
  }

  std::optional<Error> failure(std::span<const Fault> found) const override {
    return error("pivot {} of {} rows", found[0].value, found[0].detail);
  }

 private:
  Address pivots_, rows_;
  long count_, size_, lists_;
};

void emit_pivot_rows(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor pivots = planner.dense(node.input());
  const PlannedTensor rows =
      planner.assignment().assign(node.output(0), row_major(node.output(0)->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  std::unique_ptr<Step> step;
  if (pivots.dtype() == DType::i32)
    step = std::make_unique<PivotRowsStep<std::int32_t>>(pivots, rows);
  else
    step = std::make_unique<PivotRowsStep<std::int64_t>>(pivots, rows);
  planner.emit(std::move(step), node, {pivots}, {rows});
}

std::vector<Candidate> lower_pivot_rows(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Value &pivots = *node.input(), &rows = *node.output(0);
  const bool is_integer = pivots.dtype() == DType::i32 || pivots.dtype() == DType::i64;
  if (!is_integer || numel(pivots.shape()).value() == 0 || numel(rows.shape()).value() == 0) return {};
  const Work work{.bytes = bytes_of(pivots.type()) + bytes_of(rows.type())};
  return {
      {{.kernel = "pivot rows", .work = work, .seconds = planner.estimate(0, work.bytes)}, emit_pivot_rows}};
}

}  // namespace

std::vector<OpLowering> factor_lowerings() {
  std::vector<OpLowering> list;
  for (const Rule& rule : rules())
    list.push_back({.op = rule.op, .lower = lower_factor, .alone = true, .widens = true});
  list.push_back({.op = &op_info<PivotRows>(), .lower = lower_pivot_rows, .alone = true});
  return list;
}

}  // namespace tenon
