#include "runtime/calls/half_conv.h"

#include "ir/ops/cast.h"
#include "ir/ops/conv.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/group.h"

namespace tenon {
namespace {

// Products of one sum of a convolution by these weights.
std::int64_t terms(const Value& weights) {
  std::int64_t count = 1;
  for (std::size_t i = 1; i < weights.rank(); ++i) count *= weights.shape()[i].value();
  return count;
}

}  // namespace

bool reads_halves(const Node& member, const Group& group) {
  const auto* conv = member.as<Conv>();
  if (!conv || conv->groups != 1 || member.output()->dtype() != DType::bf16) return false;
  const Value* const weights = group.outer(member.input(1));
  if (weights->kind() != Value::Kind::weight) return false;
  const std::int64_t channels = weights->shape()[1].value();
  if (channels % 2 == 0) return channels <= cpu::RowGemm::max_depth;
  // Each row of taps is padded.
  const Axes dilation = spatial("dilation", conv->dilation, weights->rank() - 2);
  return dilation.back() == 1 && 2 * terms(*weights) <= cpu::RowGemm::max_depth;
}

bool writes_halves(const Node& member, const Group& group) {
  if (!reads_halves(member, group)) return false;
  return terms(*group.outer(member.input(1))) <= cpu::RowGemm::max_depth;
}

const Value* widened_for(const Node& node) {
  const Node* const cast = node.input(0)->node();
  const bool widens = cast && cast->is<Cast>() && cast->output()->dtype() == DType::f32 &&
                      cast->input()->dtype() == DType::bf16 && cast->output()->uses().size() == 1;
  return widens ? cast->input() : nullptr;
}

}  // namespace tenon
