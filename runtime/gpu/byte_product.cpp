#include "runtime/gpu/byte_product.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "ir/ops/linear.h"

namespace tenon::gpu {
namespace {

struct Range {
  std::int64_t least, largest;
};
Range range_of(const std::int32_t* numbers, std::int64_t count) {
  const auto [least, largest] = std::minmax_element(numbers, numbers + count);
  return {*least, *largest};
}

ByteWeights::Form form_of(const std::int32_t* numbers, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t most = 255;
  const Range all = range_of(numbers, columns * depth);
  if (all.least >= -128 && all.largest <= 127) return {true, true, false};
  if (all.least >= 0 && all.largest <= most) return {true, false, false};
  for (std::int64_t j = 0; j < columns; ++j) {
    const Range r = range_of(numbers + j * depth, depth);
    if (r.largest - r.least > most) return {};
  }
  return {true, false, true};
}

// A side in terms of the graph's body.
std::optional<CentredBytes> side_of(const Group& group, const Value* value) {
  const auto outer = [&](const Value* inner) { return const_cast<Value*>(group.outer(inner)); };
  if (!group.contains(value)) {
    if (!is_byte(value->dtype())) return std::nullopt;
    return CentredBytes{outer(value), nullptr};
  }
  const auto found = CentredBytes::of(value);
  if (!found || group.contains(found->bytes) || (found->zero && group.contains(found->zero)))
    return std::nullopt;
  return CentredBytes{outer(found->bytes), found->zero ? outer(found->zero) : nullptr};
}

// A constant right side that is float8 in memory, as [depth, columns].
std::optional<Tensor> float8_matrix(const Planner& planner, const Value* value, bool is_transposed) {
  const auto matrix = planner.stored_weight(value);
  if (!matrix || matrix->rank() != 2 || !is_float8(matrix->dtype())) return std::nullopt;
  return is_transposed ? matrix->permute(Index{1, 0}) : *matrix;
}

}  // namespace

ByteWeights::ByteWeights(ConstantValue matrix, bool is_transposed)
    : matrix_(matrix), is_transposed_(is_transposed) {
  const Index sizes = eval(matrix_.value()->shape(), {});
  columns_ = sizes[is_transposed ? 0 : 1];
  depth_ = sizes[is_transposed ? 1 : 0];
}

std::string ByteWeights::text() const {
  return (is_transposed_ ? "bytes, transposed, of " : "bytes of ") + matrix_.text();
}

Tensor ByteWeights::packed(const Planner& planner, const std::string& what, std::int64_t bytes,
                           FunctionRef<void(const std::int32_t* columns, std::byte* target)> fill) const {
  return planner.weights().packed(matrix_.first_weight(), what + text(), static_cast<std::size_t>(bytes),
                                  [&](const Tensor&, std::byte* target) {
                                    Tensor numbers = matrix_.evaluate();
                                    if (!is_transposed_) numbers = numbers.permute(Index{1, 0});
                                    numbers = numbers.contiguous();
                                    fill(numbers.data<std::int32_t>(), target);
                                  });
}

std::optional<ByteWeights> ByteWeights::match(const Planner& planner, const Value* matrix,
                                              bool is_transposed) {
  const ConstantValue constant(matrix);
  if (matrix->rank() != 2 || matrix->dtype() != DType::i32 || !constant.is_constant() ||
      !constant.first_weight().defined())
    return std::nullopt;
  ByteWeights weights(constant, is_transposed);
  if (weights.columns_ == 0 || weights.depth_ == 0) return std::nullopt;
  const Tensor found =
      weights.packed(planner, "form in ", sizeof(Form), [&](const std::int32_t* numbers, std::byte* target) {
        new (target) Form(form_of(numbers, weights.columns_, weights.depth_));
      });
  weights.form_ = *reinterpret_cast<const Form*>(found.bytes());
  return weights.form_.is_there ? std::optional(weights) : std::nullopt;
}

PlannedTensor ByteWeights::place(Planner& planner) const {
  const std::int64_t row = column_bytes();
  const Tensor bytes =
      packed(planner, "", columns_ * row, [&](const std::int32_t* numbers, std::byte* target) {
        std::fill_n(target, columns_ * row, std::byte{0});
        for (std::int64_t j = 0; j < columns_; ++j, numbers += depth_, target += row) {
          const std::int64_t least = form_.has_zeros ? range_of(numbers, depth_).least : 0;
          std::transform(numbers, numbers + depth_, target,
                         [&](std::int32_t n) { return static_cast<std::byte>((n - least) & 255); });
        }
      });
  const DType type = form_.is_signed ? DType::i8 : DType::u8;
  return planner.constant(Tensor::view_of(bytes.storage(), type, {columns_, row}, {row, 1}, 0))
      .permute(Index{1, 0})
      .slice(0, 0, depth_);
}

PlannedTensor ByteWeights::place_zeros(Planner& planner) const {
  const Tensor zeros =
      packed(planner, "zero points of ", columns_ * 4, [&](const std::int32_t* numbers, std::byte* target) {
        for (std::int64_t j = 0; j < columns_; ++j) {
          const auto zero = static_cast<std::int32_t>(-range_of(numbers + j * depth_, depth_).least);
          std::memcpy(target + j * 4, &zero, sizeof zero);
        }
      });
  return planner.constant(Tensor::view_of(zeros.storage(), DType::i32, {columns_}, {1}, 0));
}

std::optional<ByteCall> ByteCall::match(const Planner& planner, const Group& group) {
  const Node* anchor = find_32_bit_product(group);
  if (!anchor || numel(anchor->output()->shape()) == 0) return std::nullopt;
  if (!group.contains(anchor->input(0)) && !group.contains(anchor->input(1))) return std::nullopt;
  const auto left = side_of(group, anchor->input(0));
  if (!left) return std::nullopt;
  ByteCall call{.anchor = anchor, .bias = nullptr, .left = *left, .right = {}, .weights = {}, .matrix = {}};
  if (anchor->inputs().size() > 2) call.bias = anchor->input(2);
  if (call.bias && group.contains(call.bias)) return std::nullopt;
  if (const auto right = side_of(group, anchor->input(1)))
    call.right = *right;
  else if (is_float8(left->bytes->dtype()))
    call.matrix = float8_matrix(planner, group.outer(anchor->input(1)), anchor->is<Linear>());
  else
    call.weights = ByteWeights::match(planner, group.outer(anchor->input(1)), anchor->is<Linear>());
  return call.right.bytes || call.weights || call.matrix ? std::optional(call) : std::nullopt;
}

Work ByteCall::work() const {
  const Index result = eval(anchor->output()->shape(), {});
  const std::int64_t N = result.back(), M = result[result.size() - 2];
  const std::int64_t K = left.bytes->shape().back().value(), count = numel(result);
  return {.flops = 2.0 * static_cast<double>(count) * static_cast<double>(K),
          .bytes = bytes_of(left.bytes->type()) +
                   (weights  ? weights->bytes()
                    : matrix ? static_cast<double>(bytes_of(*matrix))
                             : bytes_of(right.bytes->type())) +
                   bytes_of(anchor->output()->type()),
          .batch = count / (M * N),
          .rows = M,
          .columns = N,
          .depth = K,
          .arithmetic = is_float8(left.bytes->dtype()) ? ArithmeticKind::f8 : ArithmeticKind::i8};
}

}  // namespace tenon::gpu
