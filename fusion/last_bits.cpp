#include "fusion/last_bits.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "ir/ops/arithmetic.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

bool moves_elements(const Node& n) {
  return n.is<Reshape>() || n.is<Permute>() || n.is<Slice>() || n.is<Expand>() || n.is<Concat>();
}

bool is_infinite(const Value* v) {
  return v->kind() == Value::Kind::literal && is_float(v->dtype()) && std::isinf(v->tensor().get_double());
}

// A number next to another one may give something else.
bool has_steps(const Node& n) {
  if (n.is<Floor>() || n.is<Ceil>() || n.is<Trunc>() || n.is<Round>() || n.is<FloorDiv>() ||
      n.is<TruncDiv>() || n.is<Remainder>() || n.is<Fmod>())
    return true;
  if (n.is<IsNan>() || n.is<IsInf>() || n.is<IsFinite>()) return false;
  const DType to = n.output()->dtype();
  return (!is_float(to) || is_float8(to)) && !std::any_of(n.inputs().begin(), n.inputs().end(), is_infinite);
}

}  // namespace

bool last_bits_decide(const Value* value) {
  std::vector<const Value*> open{value};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Value* const v = open.back();
    open.pop_back();
    for (const Use& use : v->uses()) {
      const Node* const reader = use.node;
      if (!reader || !seen.insert(reader).second) continue;
      if (reader->op().is_pointwise()) {
        if (has_steps(*reader)) return true;
      } else if (!moves_elements(*reader)) {
        continue;
      }
      open.push_back(reader->output());
    }
  }
  return false;
}

}  // namespace tenon
