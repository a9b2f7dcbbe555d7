// Type rules and gradients of sorting.
#include "ir/ops/sort.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

std::vector<Type> Sort::infer(TypeSpan x) const {
  check_axis(axis, x[0]);
  return {x[0], Type{DType::i64, x[0].shape}};
}

std::vector<Type> TopK::infer(TypeSpan x) const {
  check_axis(axis, x[0]);
  Type out = x[0];
  Dim& size = out.shape[static_cast<std::size_t>(axis)];
  if (known_less(size, k).value_or(false) || known_less(k, 0).value_or(false))
    throw error("k is {}, axis {} of {} has {} elements", k.str(), axis, x[0].str(), size.str());
  size = k;
  return {out, Type{DType::i64, out.shape}};
}

Type SearchSorted::infer(const Type& rows, const Type& values) const {
  check_same_dtype("the sorted rows", rows, "the values", values);
  if (rows.rank() == 0) throw error("a rank-0 tensor has no sorted rows");
  if (rows.rank() > 1) {
    check_rank("the values", values, rows.rank());
    for (std::size_t i = 0; i + 1 < rows.rank(); ++i)
      check_same_size("a size of the rows", rows.shape[i], "that of the values", values.shape[i]);
  }
  return {DType::i64, values.shape};
}

std::vector<Type> Mode::infer(TypeSpan x) const {
  const Type values = reduced(x[0], {axis}, false);
  if (x[0].shape[static_cast<std::size_t>(axis)] == Dim(0)) throw error("the mode of no elements");
  return {values, Type{DType::i64, values.shape}};
}

// Each value's gradient goes back to its place.
std::vector<Ref> Sort::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  return {scatter_sum(zeros_like(in[0]), axis, out[1], grads[0])};
}
std::vector<Ref> TopK::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  return {scatter_sum(zeros_like(in[0]), axis, out[1], grads[0])};
}

std::vector<const OpInfo*> sort_ops() { return family(Sorting{}); }

}  // namespace tenon
