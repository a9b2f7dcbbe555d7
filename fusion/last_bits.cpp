#include "fusion/last_bits.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "fusion/moved_elements.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/pool.h"
#include "ir/ops/reduce.h"

namespace tenon {
namespace {

bool is_infinite(const Value* v) {
  return v->kind() == Value::Kind::literal && is_float(v->dtype()) && std::isinf(v->tensor().get_double());
}

bool has_whole_results(const Node& n) {
  for (std::size_t i = 0; i < n.num_outputs(); ++i)
    if (const DType t = n.output(i)->dtype(); !is_float(t) || is_float8(t)) return true;
  return false;
}

// A number next to another one may give something else. What a region does with it is not looked at.
bool has_steps(const Node& n) {
  if (!n.regions().empty() || n.is<Floor>() || n.is<Ceil>() || n.is<Trunc>() || n.is<Round>() ||
      n.is<FloorDiv>() || n.is<TruncDiv>() || n.is<Remainder>() || n.is<Fmod>())
    return true;
  if (n.is<IsNan>() || n.is<IsInf>() || n.is<IsFinite>()) return false;
  return has_whole_results(n) && !std::any_of(n.inputs().begin(), n.inputs().end(), is_infinite);
}

bool passes_on(const Node& n) {
  return n.op().is_pointwise() || moves_elements(n) || n.is<Amax>() || n.is<Amin>() || n.is<MaxPool>();
}

}  // namespace

bool last_bits_decide(const Value* value) {
  std::vector<const Value*> open{value};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Value* const v = open.back();
    open.pop_back();
    for (const Use& use : v->uses()) {
      if (!use.node && use.region->owner()) return true;  // a loop's condition, perhaps
      if (!use.node || !seen.insert(use.node).second) continue;
      if (has_steps(*use.node)) return true;
      if (passes_on(*use.node)) open.push_back(use.node->output());
    }
  }
  return false;
}

}  // namespace tenon
