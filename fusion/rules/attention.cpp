// attention(q, k, v) = softmax(q k^T * scale + mask) v, the mask added or filled in
#include "ir/ops/attention.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "fusion/rules/rules.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
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
  const Pattern q = hole("q"), kt = hole("kt"), v = hole("v"), scale = number("scale");
  const Pattern mask = hole("mask"), kept = hole("kept"), dropped = hole("dropped"), low = number("low");
  const Pattern scores = op<MatMul>(q, kt);
  std::vector<Pattern> all;
  for (const Pattern& s : {op<MatMul>(q * scale, kt), op<MatMul>(q, kt * scale), scores * scale, scores})
    for (const Pattern& masked : {s + mask, op<Where>(dropped, low, s), op<Where>(kept, s, low), s})
      all.push_back(op<MatMul>(op<Softmax>(masked), v));
  return all;
}

constexpr std::array masks = {"mask", "kept", "dropped"};

}  // namespace

Rule raise_attention() {
  return {.name = "attention",
          .patterns = spellings(),
          .refuse = [](const Match& m) -> std::string {
            const Value* probabilities = m.find(op_info<Softmax>())->output();
            if (m.op<Softmax>().axis != static_cast<std::int64_t>(probabilities->rank()) - 1)
              return "the softmax does not run over the keys";
            if (m["q"]->rank() < 3) return "queries have no batch axis";
            for (const char* mask : masks)
              if (m.has(mask) && m[mask]->rank() > probabilities->rank())
                return "the mask has more axes than the scores";
            if (m.has("low") && m.number("low") != -std::numeric_limits<double>::infinity())
              return "the masked scores are not minus infinity";
            return {};
          },
          .build =
              [](const Match& m, const Place& place) {
                const bool masked = std::any_of(masks.begin(), masks.end(), [&](auto n) { return m.has(n); });
                const Attention attention{.scale = m.has("scale") ? m.number("scale") : 1.0,
                                          .nan_rows = masked};
                std::vector<Ref> inputs = {Ref(m["q"], place), swap_last_two(Ref(m["kt"], place)),
                                           Ref(m["v"], place)};
                if (m.has("mask")) inputs.emplace_back(m["mask"], place);
                if (m.has("kept")) inputs.emplace_back(m["kept"], place);
                if (m.has("dropped")) inputs.push_back(logical_not(Ref(m["dropped"], place)));
                return tenon::apply(attention, std::span<const Ref>(inputs));
              }};
}

}  // namespace tenon
