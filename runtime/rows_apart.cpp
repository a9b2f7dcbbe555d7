#include "runtime/rows_apart.h"

#include <algorithm>
#include <optional>

#include "ir/ops/attention.h"
#include "ir/ops/control.h"
#include "ir/ops/linear.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

bool is_view(const Node& node) { return node.is<Reshape>() || node.is<Permute>() || node.is<Slice>(); }

// What a view sees of memory that lies like this; nullopt where it would have to copy.
std::optional<Strided> seen_by(const Node& view, const Strided& lies) {
  if (const auto* permute = view.as<Permute>()) return lies.permute(permute->axes);
  if (const auto* slice = view.as<Slice>())
    return lies.slice(slice->axis, slice->start.value(), slice->end.value(), slice->step);
  const Index sizes = eval(view.output()->shape(), {});
  return lies.can_view_as(sizes) ? std::optional(lies.view_as(sizes)) : std::nullopt;
}

// Calls visit(node) for each reader that is no view; false where a view would copy, the value is a result of
// its region, or visit says so.
template <class Visit>
bool all_readers(const Value& value, const Strided& lies, Visit visit) {
  std::vector<std::pair<const Value*, Strided>> open = {{&value, lies}};
  while (!open.empty()) {
    const auto [seen, how] = std::move(open.back());
    open.pop_back();
    for (const Use& use : seen->uses()) {
      if (!use.node) return false;
      if (!is_view(*use.node)) {
        if (!visit(*use.node, *seen)) return false;
      } else if (auto view = seen_by(*use.node, how)) {
        open.emplace_back(use.node->output(), *std::move(view));
      } else {
        return false;
      }
    }
  }
  return true;
}

bool multiplies(const Op& op) { return op.is<Linear>() || op.is<MatMul>() || op.is<Attention>(); }

// Loops and products walk rows at any distance.
bool takes_rows(const Op& op) { return multiplies(op) || op.info().op_kind != OpKind::reference; }

template <class Test>
bool any_member(const Node& node, Test test) {
  if (!node.is<Fused>()) return test(node.op());
  const auto& members = node.region().nodes();
  return std::any_of(members.begin(), members.end(), [&](const auto& m) { return test(m->op()); });
}

}  // namespace

std::int64_t row_of_products(const Value& value, const Strided& dense) {
  std::int64_t row = 0;
  const bool all_take = all_readers(value, dense, [&](const Node& reader, const Value& seen) {
    if (any_member(reader, [](const Op& op) { return !takes_rows(op); })) return false;
    // A head is a part of the row that it lies in.
    const Value& rows = reader.is<Attention>() ? value : seen;
    if (rows.rank() > 0 && any_member(reader, multiplies)) row = std::max(row, eval(rows.shape(), {}).back());
    return true;
  });
  return all_take ? row : 0;
}

bool keeps_views(const Value& value, const Strided& lies) {
  return all_readers(value, lies, [](const Node&, const Value&) { return true; });
}

}  // namespace tenon
