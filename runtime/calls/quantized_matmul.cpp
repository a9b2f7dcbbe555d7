#include "runtime/calls/quantized_matmul.h"

#include <algorithm>
#include <new>

#include "ir/ops/linear.h"
#include "runtime/arithmetic.h"
#include "runtime/calls/epilogue.h"

namespace tenon {
namespace {

struct KnownRange {
  bool has_numbers = false;
  CodeRange range;
};

KnownRange range_of(const QuantizedMatrix& matrix) {
  const auto& numbers = matrix.numbers();
  if (!numbers) return {};
  CodeRange range{numbers->least_code, numbers->largest_code, 0, 0};
  if (!numbers->zeros.empty()) {
    const auto [least, largest] = std::minmax_element(numbers->zeros.begin(), numbers->zeros.end());
    range.least_zero = *least;
    range.largest_zero = *largest;
  }
  return {true, range};
}

}  // namespace

std::optional<CodeRange> code_range(WeightStore& weights, const QuantizedMatrix& matrix) {
  static_assert(std::is_trivially_copyable_v<KnownRange>);
  const Tensor stored =
      weights.packed(matrix.first_weight(), "range of " + matrix.text(), sizeof(KnownRange),
                     [&](const Tensor&, std::byte* target) { new (target) KnownRange(range_of(matrix)); });
  const auto& known = *reinterpret_cast<const KnownRange*>(stored.bytes());
  return known.has_numbers ? std::optional(known.range) : std::nullopt;
}

std::optional<QuantizedMatmulCall> QuantizedMatmulCall::match(const Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Linear>());
  const bool is_linear = anchor != nullptr;
  if (!anchor) anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) return std::nullopt;
  auto matrix = QuantizedMatrix::match(group.outer(anchor->input(1)), is_linear);
  if (!matrix) return std::nullopt;
  const auto range = code_range(planner.weights(), *matrix);
  const std::int64_t M = numel(anchor->output()->shape()).value() / matrix->N();
  if (!range || M == 0) return std::nullopt;
  const Value* bias = anchor->inputs().size() > 2 ? anchor->input(2) : nullptr;
  return QuantizedMatmulCall{anchor, group.outer(anchor->input(0)), bias, std::move(*matrix), *range, M};
}

Work QuantizedMatmulCall::work(double weight_bytes) const {
  const std::int64_t N = matrix.N(), K = matrix.K();
  return {.flops = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K),
          .bytes = bytes_of(x->type()) + weight_bytes + bytes_of(anchor->output()->type()),
          .rows = M,
          .columns = N,
          .depth = K,
          .arithmetic = arithmetic_of(x->dtype(), x->dtype())};
}

}  // namespace tenon
