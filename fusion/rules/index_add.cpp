// PyTorch decomposes index_add into an index_put that accumulates.
#include "fusion/rules/rules.h"
#include "ir/ops/index.h"

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
              [](const Match& m, const Place& place) {
                return index_add(Ref(m["x"], place), 0, Ref(m["indices"], place), Ref(m["value"], place));
              }};
}

}  // namespace tenon
