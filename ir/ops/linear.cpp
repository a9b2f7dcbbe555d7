// Type rules of the matrix products.
#include "ir/ops/linear.h"

#include "ir/ops/functions.h"
#include "ir/ops/rules.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

void check_inner(const Dim& a, const Dim& b, const Type& ta, const Type& tb) {
  if (a == b) return;
  throw sizes_differ(fmt::format("{} and {} do not multiply: their inner sizes {} and {}", ta.str(), tb.str(),
                                 a.str(), b.str()),
                     a, b);
}

}  // namespace

Type MatMul::infer(const Type& a, const Type& b) const {
  check_same_dtype("the left operand", a, "the right operand", b);
  if (a.rank() < 2 || b.rank() < 2) throw error("{} and {} must have at least 2 axes", a.str(), b.str());
  check_inner(a.shape.back(), b.shape[b.rank() - 2], a, b);
  Shape out = broadcast(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  out.push_back(a.shape[a.rank() - 2]);
  out.push_back(b.shape.back());
  return {a.dtype, std::move(out)};
}

std::vector<Type> Linear::infer(TypeSpan in) const {
  const Type &x = in[0], &weight = in[1];
  check_same_dtype("the input", x, "the weight", weight);
  check_rank("the weight", weight, 2);
  if (x.rank() < 1) throw error("the input {} has no axis", x.str());
  check_inner(x.shape.back(), weight.shape[1], x, weight);
  if (in.size() > 2) {
    check_same_dtype("the input", x, "the bias", in[2]);
    check_rank("the bias", in[2], 1);
    check_same_size("the bias", in[2].shape[0], "the number of outputs", weight.shape[0]);
  }
  Type out = x;
  out.shape.back() = weight.shape[0];
  return {out};
}

double MatMul::flops(TypeSpan in, TypeSpan out) const {
  return 2 * elements(out[0]) * static_cast<double>(in[0].shape.back().value());
}

double Linear::flops(TypeSpan in, TypeSpan out) const {
  const double bias = in.size() > 2 ? 1 : 0;
  return elements(out[0]) * (2 * static_cast<double>(in[0].shape.back().value()) + bias);
}

Ref matmul(const Ref& a, const Ref& b) { return apply(MatMul{}, {a, b}); }
Ref linear(const Ref& x, const Ref& weight) { return apply(Linear{}, {x, weight}); }
Ref linear(const Ref& x, const Ref& weight, const Ref& bias) { return apply(Linear{}, {x, weight, bias}); }

std::vector<const OpInfo*> linear_ops() { return family(LinearOps{}); }

}  // namespace tenon
