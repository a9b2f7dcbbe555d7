// Type rules of the operators on elements that are not zero, and what they are made of.
#include "ir/ops/masked.h"

#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/sort.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

Ref flat(const Ref& x) { return reshape(x, {numel(x.shape())}); }

}  // namespace

Type FirstNonZero::infer(const Type& x) const {
  return {DType::i64, {size, Dim(static_cast<std::int64_t>(x.rank()))}};
}

Ref FirstNonZero::decompose(Ref x) const {
  const InsertionPoint& point = x.insertion_point();
  const Dim count = numel(x.shape());
  if (count == Dim(0) || x.rank() == 0)
    return full({size, Dim(static_cast<std::int64_t>(x.rank()))}, static_cast<double>(fill), DType::i64,
                point);
  const Ref found = cast(DType::i64, is_bool(x.dtype()) ? flat(x) : not_equal(flat(x), x.literal(0)));
  const Ref order = apply_all(Sort{.axis = 0, .descending = true}, std::array{found})[1];
  const Ref i = iota(size, point);
  const Ref valid = i < sum(found, {0});
  Ref place = index_select(order, 0, minimum(i, dim_value(count - 1, i)));
  std::vector<Ref> columns;
  for (std::size_t axis = x.rank(); axis-- > 0;) {
    const Ref length = dim_value(x.shape()[axis], place);
    const Ref along = apply(Remainder{}, {place, length});
    columns.insert(columns.begin(), reshape(where(valid, along, static_cast<double>(fill)), {size, Dim(1)}));
    place = apply(FloorDiv{}, {place, length});
  }
  return columns.size() == 1 ? columns[0] : concat(columns, 1);
}

Type MaskedScatter::infer(const Type& x, const Type& mask, const Type& source) const {
  check_same_dtype("the operand", x, "the source", source);
  check_rank("the source", source, 1);
  if (!is_bool(mask.dtype) || mask.shape != x.shape)
    throw error("the mask is {}, for {} it must be bool of its shape", mask.str(), x.str());
  return x;
}

Ref MaskedScatter::decompose(Ref x, Ref mask, Ref source) const {
  const Ref given = flat(mask);
  const Ref order = cumsum(cast(DType::i64, given), 0) - 1.0;
  const Ref taken = index_select(source, 0, where(given, order, 0));
  return reshape(where(given, taken, flat(x)), x.shape());
}

std::vector<const OpInfo*> masked_ops() { return family(MaskedOps{}); }

}  // namespace tenon
