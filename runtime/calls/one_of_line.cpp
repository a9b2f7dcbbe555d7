#include "runtime/calls/one_of_line.h"

#include "ir/ops/index.h"
#include "ir/ops/shape.h"
#include "ir/ops/sort.h"

namespace tenon {
namespace {

/// Are there uses of the results, all by nodes of which this is so?
template <class Says>
bool for_all_uses(const Node& node, const Says& says) {
  bool any = false;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    for (const Use& use : node.output(i)->uses()) {
      if (!use.node || !says(*use.node)) return false;
      any = true;
    }
  return any;
}

bool reads_last(const Node& node, std::int64_t axis, const Dim& k) {
  return for_all_uses(node, [&](const Node& user) {
    const auto* slice = user.as<Slice>();
    return slice && slice->axis == axis && slice->start == k - 1 && slice->end == k;
  });
}

const Value* ranks_read(const Node& node, std::int64_t axis) {
  const Value* ranks = nullptr;
  const bool one = for_all_uses(node, [&](const Node& user) {
    const auto* gather = user.as<Gather>();
    if (!gather || gather->axis != axis || user.input(0)->node() != &node) return false;
    if (!ranks) ranks = user.input(1);
    return user.input(1) == ranks;
  });
  Shape lines = node.input()->shape();
  lines[static_cast<std::size_t>(axis)] = Dim(1);
  return one && ranks->dtype() == DType::i64 && ranks->shape() == lines ? ranks : nullptr;
}

}  // namespace

std::optional<OneOfLine> one_of_line(const Node& node) {
  if (node.inputs().empty() || node.input()->rank() == 0) return std::nullopt;
  if (const auto* top = node.as<TopK>(); top && reads_last(node, top->axis, top->k)) return OneOfLine{};
  if (const auto* sort = node.as<Sort>())
    if (const Value* const ranks = ranks_read(node, sort->axis)) return OneOfLine{ranks};
  return std::nullopt;
}

}  // namespace tenon
