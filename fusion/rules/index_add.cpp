// PyTorch decomposes index_add into an index_put that accumulates; graph networks write it as a scatter_add
// whose places are repeated along each row.
#include <algorithm>

#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/shape.h"

namespace tenon {

Rule index_put_to_index_add() {
  return {.name = "index_put_to_index_add",
          .patterns = {op<IndexPut>(hole("x"), hole("value"), hole("indices"))},
          .when =
              [](const Match& m) {
                const IndexPut& put = m.op<IndexPut>();
                const Value &x = *m["x"], &value = *m["value"], &indices = *m["indices"];
                if (!put.accumulate || put.axes != Axes{0} || indices.rank() != 1) return false;
                Shape slices = x.shape();
                slices[0] = indices.shape()[0];
                return value.shape() == slices;
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return apply(IndexAdd{.from_end = true},
                             {Ref(m["x"], point), Ref(m["indices"], point), Ref(m["value"], point)});
              }};
}

// One place for each row, repeated along the row.
Rule scatter_to_index_add() {
  static const auto places = [](const Match& m) -> Value* {
    const Value* repeated = m["indices"];
    const Value* column =
        repeated->node() && repeated->node()->is<Expand>() ? repeated->node()->input() : nullptr;
    if (!column || column->rank() != repeated->rank() || column->shape()[0] != repeated->shape()[0])
      return nullptr;
    const bool one_each =
        std::all_of(column->shape().begin() + 1, column->shape().end(), [](const Dim& d) { return d == 1; });
    return one_each ? const_cast<Value*>(column) : nullptr;
  };
  return {.name = "scatter_to_index_add",
          .patterns = {op<Scatter>(hole("x"), hole("indices"), hole("src"))},
          .when =
              [](const Match& m) {
                const Scatter& s = m.op<Scatter>();
                const Shape &x = m["x"]->shape(), &src = m["src"]->shape();
                return s.axis == 0 && s.reduce == ScatterReduce::sum && s.include_self && x.size() >= 2 &&
                       m["indices"]->shape() == src && std::equal(x.begin() + 1, x.end(), src.begin() + 1) &&
                       places(m);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref column(places(m), point);
                return index_add(Ref(m["x"], point), 0, reshape(column, {column.shape()[0]}),
                                 Ref(m["src"], point));
              }};
}

}  // namespace tenon
