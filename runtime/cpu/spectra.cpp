// Eigenvalues, singular values and exponentials of matrices, each by one thread.
#include "kernels/cpu/spectra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <type_traits>

#include "ir/flops.h"
#include "ir/ops/linalg.h"
#include "kernels/cpu/matrix_exp.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

/// From one matrix's numbers its results.
template <class T>
using OnMatrix = std::function<void(const T*, T* const* results, std::byte* room)>;

/// Are the numbers that the operator reads: of a symmetric matrix the lower triangle?
template <class T>
bool is_finite(const T* x, long rows, long columns, bool is_symmetric) {
  const auto finite = [](T number) { return std::isfinite(number); };
  for (long i = 0; i < rows; ++i, x += columns)
    if (!std::all_of(x, x + (is_symmetric ? i + 1 : columns), finite)) return false;
  return true;
}

/// Null: it takes every matrix, also one that holds infinities or NaN.
template <class T>
using IsTaken = std::function<bool(const T*)>;

struct Operand {
  Address address;
  long numbers;  // of one matrix
};

template <class T>
class MatrixStep : public CpuStep {
 public:
  MatrixStep(OnMatrix<T> on_matrix, std::size_t room, IsTaken<T> is_taken, long matrices, int threads,
             const Operand& x, std::vector<Operand> results)
      : on_matrix_(std::move(on_matrix)),
        room_((room + line - 1) / line * line),
        is_taken_(std::move(is_taken)),
        matrices_(matrices),
        chunks_(std::min<long>(matrices, 8L * threads)),
        x_(x),
        results_(std::move(results)) {
    faults = is_taken_ ? 1 : 0;
    scratch_bytes = static_cast<std::size_t>(threads) * room_;
  }

  void compute(const CpuFrame& frame) const override {
    frame.pool.parallel_for(chunks_, [&](long chunk, int worker) {
      std::byte* const room = frame.scratch + static_cast<std::size_t>(worker) * room_;
      for (long k = chunk * matrices_ / chunks_; k < (chunk + 1) * matrices_ / chunks_; ++k)
        compute_matrix(frame, k, room);
    });
  }

  std::optional<Error> failure(std::span<const Fault>) const override {
    return error("the matrix holds an infinity or NaN");
  }

 private:
  void compute_matrix(const CpuFrame& frame, long k, std::byte* room) const {
    const T* const x = frame.at<const T>(x_.address) + k * x_.numbers;
    if (is_taken_ && !is_taken_(x)) return frame.faults[0].report(0, 0);
    std::array<T*, 3> results{};
    for (std::size_t i = 0; i < results_.size(); ++i)
      results[i] = frame.at<T>(results_[i].address) + k * results_[i].numbers;
    on_matrix_(x, results.data(), room);
  }

  static constexpr std::size_t line = 64;
  OnMatrix<T> on_matrix_;
  std::size_t room_;  // of a thread
  IsTaken<T> is_taken_;
  long matrices_, chunks_;
  Operand x_;
  std::vector<Operand> results_;
};

bool is_used(const Node& node, std::size_t result) { return !node.output(result)->uses().empty(); }

template <class T>
OnMatrix<T> on_matrix(const Node& node, long rows, long columns) {
  if (node.is<MatrixExp>())
    return [=](const T* x, T* const* y, std::byte* room) {
      const cpu::MatrixExpTask<T> task{x, rows, y[0], reinterpret_cast<double*>(room)};
      if constexpr (std::is_same_v<T, float>)
        cpu::matrix_exp_f32(task);
      else
        cpu::matrix_exp_f64(task);
    };
  if (node.is<Eigh>())
    return [=, vectors = is_used(node, 1)](const T* x, T* const* y, std::byte* room) {
      cpu::find_eigh(x, rows, y[0], vectors ? y[1] : nullptr, room);
    };
  if (!is_used(node, 0) && !is_used(node, 2))
    return [=](const T* x, T* const* y, std::byte* room) {
      cpu::find_singular_values(x, rows, columns, y[1], room);
    };
  return [=, complete = node.as<Svd>()->complete](const T* x, T* const* y, std::byte* room) {
    cpu::find_svd(x, rows, columns, complete, y[0], y[1], y[2], room);
  };
}

std::size_t room_of(const Node& node, long rows, long columns) {
  if (node.is<MatrixExp>()) return cpu::matrix_exp_room(rows);
  const Svd* svd = node.as<Svd>();
  return cpu::spectrum_room(rows, columns, svd && svd->complete);
}

template <class T>
IsTaken<T> is_taken(const Node& node, long rows, long columns) {
  if (node.is<MatrixExp>()) return nullptr;
  return [rows, columns, is_symmetric = node.is<Eigh>()](const T* x) {
    return is_finite(x, rows, columns, is_symmetric);
  };
}

template <class T>
void emit_spectrum(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input());
  const long rows = x.shape()[x.rank() - 2], columns = x.shape().back();
  const long matrices = x.numel() / (rows * columns);
  std::vector<PlannedTensor> tensors;
  std::vector<Operand> results;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* result = node.output(i);
    tensors.push_back(planner.assignment().assign(result, row_major(result->rank()),
                                                  [](const PlannedTensor& t) { return t.is_contiguous(); }));
    results.push_back({tensors.back().address(), tensors.back().numel() / matrices});
  }
  planner.emit(
      std::make_unique<MatrixStep<T>>(on_matrix<T>(node, rows, columns), room_of(node, rows, columns),
                                      is_taken<T>(node, rows, columns), matrices, planner.threads(),
                                      Operand{x.address(), rows * columns}, std::move(results)),
      node, {x}, tensors);
}

std::vector<Candidate> lower_spectrum(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Value& x = *node.input();
  const double numbers = static_cast<double>(numel(x.shape()).value());
  if ((x.dtype() != DType::f32 && x.dtype() != DType::f64) || numbers == 0) return {};
  Work work{.flops = flops(node), .bytes = bytes_of(x.type())};
  for (std::size_t i = 0; i < node.num_outputs(); ++i) work.bytes += bytes_of(node.output(i)->type());
  const double copies = planner.estimate_copy(&x, [](const Strided& t) { return t.is_contiguous(); });
  constexpr double slowness = 4;  // next to a product
  return {{{.kernel = "spectrum",
            .work = work,
            .seconds = copies + planner.estimate(slowness * work.flops, work.bytes)},
           x.dtype() == DType::f32 ? emit_spectrum<float> : emit_spectrum<double>}};
}

}  // namespace

std::vector<OpLowering> spectrum_lowerings() {
  std::vector<OpLowering> list;
  // Exponentials of 16-bit floats are no rounded ones of f32 (ir/ops/matrix_exp_halves.h).
  for (const OpInfo* op : {&op_info<Eigh>(), &op_info<Svd>(), &op_info<MatrixExp>()})
    list.push_back({.op = op, .lower = lower_spectrum, .alone = true, .widens = op != &op_info<MatrixExp>()});
  return list;
}

}  // namespace tenon
