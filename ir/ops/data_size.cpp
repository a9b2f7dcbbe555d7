// Type rules of the operators whose results are as large as their data says.
#include "ir/ops/data_size.h"

#include "ir/read_definition.h"

namespace tenon {

Type CountUp::infer(const Type& n) const {
  check_integer("a count", n);
  check_rank("a count", n, 0);
  return {DType::i64, {count}};
}

Type RepeatEach::infer(const Type& repeats) const {
  check_integer("repeats", repeats);
  check_rank("repeats", repeats, 1);
  return {DType::i64, {count}};
}

std::vector<Type> Unique::infer(TypeSpan x) const {
  if (x[0].rank() == 0) throw error("a rank-0 tensor has no slices");
  return {{DType::i64, {count}}, {DType::i64, {x[0].shape[0]}}, {DType::i64, {count}}};
}

Type SuppressOverlaps::infer(const Type& boxes, const Type& scores) const {
  check_float("boxes", boxes);
  check_float("scores", scores);
  check_rank("boxes", boxes, 2);
  check_rank("scores", scores, 1);
  check_same_size("the number of boxes", boxes.shape[0], "that of scores", scores.shape[0]);
  check_same_size("the size of a box", boxes.shape[1], "four corners", Dim(4));
  return {DType::i64, {count}};
}

std::vector<const OpInfo*> data_size_ops() { return family(DataSizes{}); }

}  // namespace tenon
