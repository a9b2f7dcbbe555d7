// Counts primitives.
#include "runtime/cost/body.h"

#include <algorithm>
#include <array>

#include "ir/clone.h"
#include "ir/ops/control.h"
#include "runtime/axes.h"
#include "runtime/decompose.h"

namespace tenon {
namespace {

constexpr std::array divisions = {Prim::div,  Prim::floor_div, Prim::trunc_div, Prim::remainder,
                                  Prim::fmod, Prim::recip,     Prim::sqrt,      Prim::rsqrt};
constexpr std::array cheap = {Prim::add,   Prim::sub,  Prim::mul,   Prim::neg,  Prim::abs,
                              Prim::sign,  Prim::min,  Prim::max,   Prim::fmin, Prim::fmax,
                              Prim::floor, Prim::ceil, Prim::trunc, Prim::round};
constexpr std::array exponentials = {Prim::exp,     Prim::exp2, Prim::expm1,
                                     Prim::sigmoid, Prim::tanh, Prim::erf};

bool is_one_of(Prim p, std::span<const Prim> list) { return std::ranges::find(list, p) != list.end(); }

double& kind_of(Features& f, Prim p) {
  if (p == Prim::cast) return f.casts;
  if (is_one_of(p, cheap)) return f.cheap;
  if (is_one_of(p, divisions)) return f.divisions;
  if (is_one_of(p, exponentials)) return f.exponentials;
  const PrimKind kind = info(p).kind;
  const bool is_test = kind == PrimKind::test || kind == PrimKind::bits || kind == PrimKind::select;
  return is_test ? f.tests : f.transcendental;
}

// Shared subtrees count once for each use.
void put(Features& f, const Expr& e) {
  if (e.node().kind == Expr::Kind::prim) ++kind_of(f, e.node().prim);
  for (const Expr& arg : e.node().args) put(f, arg);
}

void put_member(Features& f, const Node& member) {
  if (member.op().is_pointwise()) put(f, expr_of(member.op()));
  if (reduction_of(member.op())) ++f.folds;
  if (gathers(member)) ++f.gathers;
}

}  // namespace

void put_primitives(Features& f, const Node& node) {
  if (!node.is<Fused>()) return put_member(f, node);
  const auto body = region_graph(node.region());
  decompose_composites(body->body());
  for (const auto& member : body->body().nodes()) {
    if (!member->is<Fused>()) {
      put_member(f, *member);
      continue;
    }
    for (const auto& part : member->region().nodes()) put_member(f, *part);
  }
}

}  // namespace tenon
