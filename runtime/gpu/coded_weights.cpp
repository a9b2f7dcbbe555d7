#include "runtime/gpu/coded_weights.h"

#include <algorithm>

namespace tenon::gpu {
namespace {

template <class Code>
void write_codes(const ProductCodes& form, const QuantizedNumbers& numbers, int least, std::byte* target) {
  const Code* const codes = numbers.codes.data<Code>();
  const auto depth = static_cast<std::int64_t>(numbers.places.rows.size());
  for (const std::int64_t column : numbers.places.columns) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto code =
          static_cast<unsigned>(codes[numbers.places.rows[static_cast<std::size_t>(k)] + column] - least);
      const std::int64_t bit = k * form.bits;
      target[bit / 8] |= static_cast<std::byte>(code << (bit % 8));
    }
    target += form.column_bytes(depth);
  }
}

// From [groups, columns] to [columns, groups].
template <class T>
void write_by_columns(const std::vector<T>& numbers, std::int64_t columns, std::byte* target) {
  const auto groups = static_cast<std::int64_t>(numbers.size()) / columns;
  auto* const to = reinterpret_cast<T*>(target);
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t j = 0; j < columns; ++j)
      to[j * groups + g] = numbers[static_cast<std::size_t>(g * columns + j)];
}

void write(const CodedCall& c, std::byte* target) {
  const std::int64_t columns = c.call.matrix.N(), depth = c.call.matrix.K();
  const QuantizedNumbers& numbers = *c.call.matrix.numbers();
  const auto least = static_cast<int>(c.call.range.least_code);
  std::fill_n(target, c.bytes(), std::byte{0});
  if (numbers.codes.dtype() == DType::i8)
    write_codes<std::int8_t>(c.codes, numbers, least, target);
  else
    write_codes<std::uint8_t>(c.codes, numbers, least, target);
  write_by_columns(numbers.scales, columns, target + c.codes.scales_at(columns, depth));
  if (c.codes.has_zeros) write_by_columns(numbers.zeros, columns, target + c.codes.zeros_at(columns, depth));
}

bool is_multiplied(DType dtype) { return is_float(dtype) ? dtype != DType::f64 : dtype == DType::i32; }

}  // namespace

std::optional<CodedCall> CodedCall::match(const Planner& planner, const Group& group) {
  auto call = QuantizedMatmulCall::match(planner, group);
  if (!call || !is_multiplied(call->x->dtype()) || call->anchor->output()->dtype() != call->x->dtype())
    return std::nullopt;
  const QuantizedMatrix& matrix = call->matrix;
  if (matrix.group() != matrix.K() && matrix.group() % coded_row_count != 0) return std::nullopt;
  const CodeRange& range = call->range;
  const ProductCodes codes{.bits = range.fits_four_bits() ? 4 : 8,
                           .group = matrix.group(),
                           .zero = (range.has_one_zero() ? range.least_zero : 0) - range.least_code,
                           .has_zeros = !range.has_one_zero()};
  return CodedCall{std::move(*call), codes};
}

PlannedTensor CodedCall::weights(Planner& planner) const {
  return planner.constant(planner.weights().packed(
      call.matrix.first_weight(), "columns of " + call.matrix.text(), static_cast<std::size_t>(bytes()),
      [&](const Tensor&, std::byte* target) { write(*this, target); }));
}

}  // namespace tenon::gpu
