// softmax(x) = e / sum(e) with e = exp(x - max(x)), over one axis. It subtracts the maximum by itself.
#include "ir/ops/softmax.h"

#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"

namespace tenon {

Rule raise_softmax() {
  const Pattern x = hole("x");
  const Pattern e = op<Exp>(x - op<Amax>(x));
  return {
      .name = "softmax",
      .patterns = {e / op<Sum>(e)},
      .when = [](const Match& m) { return is_float(m["x"]->dtype()); },
      .refuse = [](const Match& m) -> std::string {
        const Amax& max = m.op<Amax>();
        const Sum& sum = m.op<Sum>();
        if (max.axes != sum.axes) return "maximum and sum run over different axes";
        if (max.axes.size() != 1) return "it runs over several axes";
        if (!max.keepdim || !sum.keepdim) return "the reduced axis is dropped";
        return {};
      },
      .build = [](const Match& m,
                  const InsertionPoint& point) { return softmax(Ref(m["x"], point), m.op<Sum>().axes[0]); }};
}

Rule softmax_of_shifted() {
  const Pattern x = hole("x");
  return {
      .name = "softmax_of_shifted",
      .patterns = {op<Softmax>(x - op<Amax>(x))},
      .when =
          [](const Match& m) {
            const Amax& max = m.op<Amax>();
            return max.keepdim && max.axes == Axes{m.op<Softmax>().axis};
          },
      .build = [](const Match& m,
                  const InsertionPoint& point) { return softmax(Ref(m["x"], point), m.op<Softmax>().axis); }};
}

}  // namespace tenon
