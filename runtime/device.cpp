#include "runtime/device.h"

#include <algorithm>

#include "ir/ops/control.h"
#include "runtime/counted_sizes.h"
#include "runtime/group.h"

namespace tenon {

std::string_view Device::runs(const Op& op) const {
  for (const OpLowering& l : lowerings)
    if (l.op == &op.info()) return "kernel";
  if (sized_kernel(op)) return "kernel";
  for (const GeneralLowering& g : general)
    if (g.takes(op)) return g.name;
  const bool has_parts = op.is<Fused>() || op.info().op_kind == OpKind::composite;
  return has_parts || (!shares_memory && has_counted_size(op)) ? "parts" : "nothing";
}

const SizedKernel* Device::sized_kernel(const Op& op) const {
  if (!shares_memory) return nullptr;
  const auto found =
      std::find_if(sized.begin(), sized.end(), [&](const SizedKernel& k) { return k.op == &op.info(); });
  return found == sized.end() ? nullptr : &*found;
}

bool Device::works_channels_last(const Op& op) const {
  return std::any_of(lowerings.begin(), lowerings.end(),
                     [&](const OpLowering& l) { return l.op == &op.info() && l.channels_last; });
}

bool Device::widens() const {
  return std::any_of(lowerings.begin(), lowerings.end(), [](const OpLowering& l) { return l.widens; });
}

std::vector<const OpLowering*> Device::lowerings_of(const Group& group) const {
  std::vector<const OpLowering*> found;
  for (const OpLowering& l : lowerings) {
    if (l.alone && group.node().is<Fused>()) continue;
    if (std::any_of(found.begin(), found.end(), [&](const OpLowering* f) { return f->lower == l.lower; }))
      continue;
    if (std::any_of(group.members().begin(), group.members().end(),
                    [&](const Node* n) { return &n->op().info() == l.op; }))
      found.push_back(&l);
  }
  return found;
}

}  // namespace tenon
