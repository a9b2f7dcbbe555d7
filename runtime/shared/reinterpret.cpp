// Parts of complex numbers and bits as another type: the same memory, looked at differently.
#include "ir/ops/bits.h"
#include "ir/ops/complex.h"
#include "runtime/complex_parts.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

void emit_complex(Planner& planner, const Group& group) {
  const Node& node = group.node();
  BufferAssignment& assignment = planner.assignment();
  const auto whole = whole_of(assignment.at(node.input(0)), assignment.at(node.input(1)));
  if (whole && !assignment.known(node.output())) return assignment.bind(node.output(), *whole);
  const PlannedTensor z = assignment.complex_whole(node);
  for (const std::int64_t which : {0, 1})
    planner.copy(assignment.at(node.input(static_cast<std::size_t>(which))), part_of(z, which), &node);
}

void emit_part(Planner& planner, const Group& group) {
  const Node& node = group.node();
  planner.assignment().bind(node.output(), part_of(planner.assignment().at(node.input()), node.is<Imag>()));
}

void emit_bitcast(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const DType to = node.as<Bitcast>()->to;
  const Index sizes = eval(node.output()->shape(), {});
  PlannedTensor x = planner.assignment().at(node.input());
  if (size_of(x.dtype()) < size_of(to)) {
    x = planner.dense(node.input());
    const auto parts = static_cast<std::int64_t>(size_of(to) / size_of(x.dtype()));
    x = {x.buffer(), Strided(to, sizes, contiguous_strides(sizes), x.offset() / parts)};
  } else if (size_of(x.dtype()) > size_of(to)) {
    x = in_parts(x, to);
  } else {
    x = {x.buffer(), Strided(to, x.shape(), x.strides(), x.offset())};
  }
  planner.assignment().bind(node.output(), x);
}

template <void (*emit)(Planner&, const Group&)>
std::vector<Candidate> lower(const Planner&, const Group&) {
  return {{{.kernel = "view"}, emit}};
}

std::vector<Candidate> lower_complex(const Planner& planner, const Group& group) {
  const double bytes = 2 * bytes_of(group.node().output()->type());
  return {
      {{.kernel = "copy", .work = {.bytes = bytes}, .seconds = planner.estimate(0, bytes)}, emit_complex}};
}

std::vector<Candidate> lower_bitcast(const Planner& planner, const Group& group) {
  if (is_bool(group.node().as<Bitcast>()->to)) return {};  // which is a comparison
  return lower<emit_bitcast>(planner, group);
}

}  // namespace

std::vector<OpLowering> reinterpret_lowerings() {
  return {{.op = &op_info<Real>(), .lower = lower<emit_part>, .alone = true},
          {.op = &op_info<Imag>(), .lower = lower<emit_part>, .alone = true},
          {.op = &op_info<Complex>(), .lower = lower_complex, .alone = true},
          {.op = &op_info<Bitcast>(), .lower = lower_bitcast, .alone = true}};
}

}  // namespace tenon
