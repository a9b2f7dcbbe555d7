// Operators without a kernel of their own run their reference: right, slow, and allocating.
#include "base/error.h"
#include "ir/data_size.h"
#include "ir/evaluate.h"
#include "ir/flops.h"
#include "ir/ops/control.h"
#include "ir/ops/custom.h"
#include "runtime/shared/general.h"

namespace tenon {
namespace {

class ReferenceStep : public Step {
 public:
  ReferenceStep(const Planner& planner, const Node& node, const std::vector<PlannedTensor>& in,
                const std::vector<PlannedTensor>& out)
      : node_(node), op_(node.op()) {
    info.kind = StepKind::reference;
    for (const PlannedTensor& t : in) in_.push_back({t, planner.buffer(t).bytes, false});
    for (const PlannedTensor& t : out) out_.push_back({t, planner.buffer(t).bytes, true});
  }

  void run(const Frame& frame) const override {
    frame.queue.wait();
    if (any_found(frame.faults)) return;
    std::vector<Tensor> in, out;
    for (const Operand& o : in_) in.push_back(o.bound(frame));
    for (const Operand& o : out_) out.push_back(o.bound(frame));
    const std::vector<Tensor> results = computed(in, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (results[i].shape() != out[i].shape())
        throw unsupported("{} gave a result {} whose size depends on the data; {} was planned", op_.name(),
                          results[i].type_string(), out[i].type_string());
      if (results[i].bytes() != out[i].bytes()) out[i].copy_from(results[i]);
    }
  }

 private:
  std::vector<Tensor> computed(const std::vector<Tensor>& in, std::vector<Tensor> out) const {
    if (!op_.info().reference) return evaluate(node_, in);
    op_.info().reference(op_.self(), in, out);
    return out;
  }

  struct Operand {
    PlannedTensor planned;
    std::size_t bytes;  // of its buffer
    bool writable;

    Tensor bound(const Frame& frame) const {
      return over({frame.buffers[planned.buffer()], bytes}, planned, writable);
    }
  };

  const Node& node_;  // of the plan's graph
  Op op_;
  std::vector<Operand> in_, out_;
};

void emit_reference(Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (const auto* custom = node.as<Custom>()) custom->loaded();  // before anything is computed
  std::vector<PlannedTensor> reads, results, writes;
  for (const Value* v : node.inputs()) reads.push_back(planner.on_host(v));
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* out = node.output(i);
    results.push_back(planner.assignment().assign(out, row_major(out->rank()),
                                                  [](const PlannedTensor& t) { return t.is_contiguous(); }));
    writes.push_back(planner.written_by_host(results[i]));
  }
  planner.emit(std::make_unique<ReferenceStep>(planner, node, reads, writes), node, reads, writes);
  for (std::size_t i = 0; i < results.size(); ++i) planner.upload(writes[i], results[i], &node);
}

// One element after the other, with calls and allocations between them; measured on those that do little for
// each element (cumsum, scatter, pad). Where the host does not see the operands, they are copied to it.
double seconds(const Planner& planner, const Node& node, const Work& work) {
  constexpr double call = 2e-6, operation = 1e-9, element = 2e-9, byte = 0.5e-9;
  double moved = 0;
  const auto move = [&](const Value* v) {
    moved += std::max(byte * bytes_of(v->type()), element * static_cast<double>(numel(v->shape()).value()));
  };
  for (const Value* v : node.inputs()) move(v);
  for (std::size_t i = 0; i < node.num_outputs(); ++i) move(node.output(i));
  const double copies = planner.shares_memory() ? 0 : planner.estimate(0, work.bytes);
  return call + operation * work.flops + moved + copies;
}

}  // namespace

bool has_reference(const Op& op) { return op.info().op_kind != OpKind::composite && !op.is<Fused>(); }

std::vector<Candidate> lower_reference(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (group.members().size() != 1 || group.members()[0] != &node) return {};
  if (!has_reference(node.op()) || (!node.regions().empty() && !gives_sizes(node))) return {};
  // The parts of a concatenation may be in its memory already.
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (planner.assignment().known(node.output(i))) return {};
  Work work{.flops = flops(node)};
  for (const Value* v : node.inputs()) work.bytes += bytes_of(v->type());
  for (std::size_t i = 0; i < node.num_outputs(); ++i) work.bytes += bytes_of(node.output(i)->type());
  const CandidateInfo info{.kernel = "reference", .work = work, .seconds = seconds(planner, node, work)};
  return {Candidate{info, emit_reference}};
}

}  // namespace tenon
