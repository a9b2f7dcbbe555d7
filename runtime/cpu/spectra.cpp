// Eigenvalues, singular values and exponentials of matrices, each by one thread.
#include "kernels/cpu/spectra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "ir/flops.h"
#include "ir/ops/linalg.h"
#include "kernels/cpu/matrix_exp.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

using Results = std::array<double*, 3>;
/// From one matrix's numbers its results.
using OnMatrix = std::function<void(const double*, const Results&, std::byte* room)>;

/// Are the numbers that the operator reads: of a symmetric matrix the lower triangle?
bool is_finite(const double* x, long rows, long columns, bool is_symmetric) {
  const auto finite = [](double number) { return std::isfinite(number); };
  for (long i = 0; i < rows; ++i, x += columns)
    if (!std::all_of(x, x + (is_symmetric ? i + 1 : columns), finite)) return false;
  return true;
}

/// Null: it takes every matrix, also one that holds infinities or NaN.
using IsTaken = std::function<bool(const double*)>;

/// Its numbers are computed in f64, whatever their type is in memory.
class MatrixStep : public CpuStep {
 public:
  struct Operand {
    Address address;
    DType dtype;
    long numbers;  // of one matrix

    bool is_wide() const { return dtype == DType::f64; }
    template <class T>
    T* matrix(const CpuFrame& frame, long k) const {
      return frame.at<T>(address) + k * numbers;
    }
  };

  MatrixStep(OnMatrix on_matrix, std::size_t room, IsTaken is_taken, long matrices, int threads,
             const Operand& x, std::vector<Operand> results)
      : on_matrix_(std::move(on_matrix)),
        is_taken_(std::move(is_taken)),
        matrices_(matrices),
        chunks_(std::min<long>(matrices, 8L * threads)),
        x_(x),
        results_(std::move(results)) {
    faults = is_taken_ ? 1 : 0;
    numbers_ = padded(x.numbers);
    for (const Operand& r : results_) numbers_ += padded(r.numbers);
    bytes_ = static_cast<std::size_t>(numbers_) * sizeof(double) + room;
    scratch_bytes = static_cast<std::size_t>(threads) * bytes_;
  }

  void compute(const CpuFrame& frame) const override {
    frame.pool.parallel_for(chunks_, [&](long chunk, int worker) {
      std::byte* const room = frame.scratch + static_cast<std::size_t>(worker) * bytes_;
      for (long k = chunk * matrices_ / chunks_; k < (chunk + 1) * matrices_ / chunks_; ++k)
        compute_matrix(frame, k, room);
    });
  }

  std::optional<Error> failure(std::span<const Fault>) const override {
    return error("the matrix holds an infinity or NaN");
  }

 private:
  static long padded(long numbers) {
    constexpr long line = 8;
    return (numbers + line - 1) / line * line;
  }

  void compute_matrix(const CpuFrame& frame, long k, std::byte* memory) const {
    double* room = reinterpret_cast<double*>(memory);
    const double* x = x_.is_wide() ? x_.matrix<double>(frame, k) : room;
    if (!x_.is_wide()) std::copy_n(x_.matrix<const float>(frame, k), x_.numbers, room);
    if (is_taken_ && !is_taken_(x)) return frame.faults[0].report(0, 0);
    Results results{};
    for (std::size_t i = 0; i < results_.size(); ++i) {
      room += padded(i == 0 ? x_.numbers : results_[i - 1].numbers);
      results[i] = results_[i].is_wide() ? results_[i].matrix<double>(frame, k) : room;
    }
    on_matrix_(x, results, memory + static_cast<std::size_t>(numbers_) * sizeof(double));
    for (std::size_t i = 0; i < results_.size(); ++i)
      if (!results_[i].is_wide())
        std::copy_n(results[i], results_[i].numbers, results_[i].matrix<float>(frame, k));
  }

  OnMatrix on_matrix_;
  IsTaken is_taken_;
  long matrices_, chunks_;
  Operand x_;
  std::vector<Operand> results_;
  long numbers_ = 0;       // of x and the results
  std::size_t bytes_ = 0;  // of a thread
};

bool is_used(const Node& node, std::size_t result) { return !node.output(result)->uses().empty(); }

OnMatrix on_matrix(const Node& node, long rows, long columns) {
  if (node.is<MatrixExp>())
    return [=](const double* x, const Results& y, std::byte*) { cpu::matrix_exp(x, rows, y[0]); };
  if (node.is<Eigh>())
    return [=, vectors = is_used(node, 1)](const double* x, const Results& y, std::byte* room) {
      cpu::find_eigh(x, rows, y[0], vectors ? y[1] : nullptr, room);
    };
  if (!is_used(node, 0) && !is_used(node, 2))
    return [=](const double* x, const Results& y, std::byte* room) {
      cpu::find_singular_values(x, rows, columns, y[1], room);
    };
  return [=, complete = node.as<Svd>()->complete](const double* x, const Results& y, std::byte* room) {
    cpu::find_svd(x, rows, columns, complete, y[0], y[1], y[2], room);
  };
}

std::size_t room_of(const Node& node, long rows, long columns) {
  if (node.is<MatrixExp>()) return 0;
  const Svd* svd = node.as<Svd>();
  return cpu::spectrum_room(rows, columns, svd && svd->complete);
}

IsTaken is_taken(const Node& node, long rows, long columns) {
  if (node.is<MatrixExp>()) return nullptr;
  return [rows, columns, is_symmetric = node.is<Eigh>()](const double* x) {
    return is_finite(x, rows, columns, is_symmetric);
  };
}

void emit_spectrum(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input());
  const long rows = x.shape()[x.rank() - 2], columns = x.shape().back();
  const long matrices = x.numel() / (rows * columns);
  std::vector<PlannedTensor> tensors;
  std::vector<MatrixStep::Operand> results;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* result = node.output(i);
    tensors.push_back(planner.assignment().assign(result, row_major(result->rank()),
                                                  [](const PlannedTensor& t) { return t.is_contiguous(); }));
    results.push_back({tensors.back().address(), result->dtype(), tensors.back().numel() / matrices});
  }
  planner.emit(std::make_unique<MatrixStep>(on_matrix(node, rows, columns), room_of(node, rows, columns),
                                            is_taken(node, rows, columns), matrices, planner.threads(),
                                            MatrixStep::Operand{x.address(), x.dtype(), rows * columns},
                                            std::move(results)),
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
  constexpr double operations = 30;  // of a product, in the time that one takes
  return {{{.kernel = "spectrum",
            .work = work,
            .seconds = copies + planner.estimate(operations * work.flops, work.bytes)},
           emit_spectrum}};
}

}  // namespace

std::vector<OpLowering> spectrum_lowerings() {
  std::vector<OpLowering> list;
  for (const OpInfo* op : {&op_info<Eigh>(), &op_info<Svd>(), &op_info<MatrixExp>()})
    list.push_back({.op = op, .lower = lower_spectrum, .alone = true});
  return list;
}

}  // namespace tenon
