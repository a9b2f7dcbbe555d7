// attention(q, k, v) = softmax(q k^T * scale + mask) v
#include "ir/ops/attention.h"

#include <numeric>

#include "fusion/rules/rules.h"
#include "ir/ops/linear.h"
#include "ir/ops/shape.h"
#include "ir/ops/softmax.h"

namespace tenon {
namespace {

Ref swap_last_two(const Ref& x) {
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(x, axes);
}

std::vector<Pattern> spellings() {
  const Pattern q = hole("q"), kt = hole("kt"), v = hole("v"), mask = hole("mask"), scale = number("scale");
  const Pattern scores = op<MatMul>(q, kt);
  std::vector<Pattern> all;
  for (const Pattern& s : {op<MatMul>(q * scale, kt), op<MatMul>(q, kt * scale), scores * scale, scores})
    for (const Pattern& masked : {s + mask, s}) all.push_back(op<MatMul>(op<Softmax>(masked), v));
  return all;
}

}  // namespace

Rule raise_attention() {
  return {.name = "attention",
          .patterns = spellings(),
          .refuse = [](const Match& m) -> std::string {
            const Value* probabilities = m.find(op_info<Softmax>())->output();
            if (m.op<Softmax>().axis != static_cast<std::int64_t>(probabilities->rank()) - 1)
              return "the softmax does not run over the keys";
            if (m["q"]->rank() < 3) return "queries have no batch axis";
            if (m.has("mask") && m["mask"]->rank() > probabilities->rank())
              return "the mask has more axes than the scores";
            return {};
          },
          .build =
              [](const Match& m, const Place& place) {
                const Attention attention{.scale = m.has("scale") ? m.number("scale") : 1.0};
                std::vector<Ref> inputs = {Ref(m["q"], place), swap_last_two(Ref(m["kt"], place)),
                                           Ref(m["v"], place)};
                if (m.has("mask")) inputs.emplace_back(m["mask"], place);
                return tenon::apply(attention, std::span<const Ref>(inputs));
              }};
}

}  // namespace tenon
