// Operators without a kernel of their own run their reference: right, slow, and allocating.
#include "base/error.h"
#include "ir/data_size.h"
#include "ir/evaluate.h"
#include "ir/ops/control.h"
#include "ir/ops/custom.h"
#include "runtime/steps/makers.h"

namespace tenon {
namespace {

class ReferenceStep : public Step {
 public:
  ReferenceStep(Planner& planner, const Node& node, std::vector<Tensor> in, std::vector<Tensor> out)
      : node_(node), op_(node.op()), in_(std::move(in)), out_(std::move(out)) {
    info.kernel = "reference";
    for (const Tensor& t : in_) in_at_.push_back(planner.address(t));
    for (const Tensor& t : out_) out_at_.push_back(planner.address(t));
  }

  void run(const Frame& frame) const override {
    std::vector<Tensor> in, out;
    for (std::size_t i = 0; i < in_.size(); ++i) in.push_back(bound(in_[i], in_at_[i], frame));
    for (std::size_t i = 0; i < out_.size(); ++i) out.push_back(bound(out_[i], out_at_[i], frame));
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

  // The planned tensor over its bytes of this run.
  static Tensor bound(const Tensor& planned, const Address& at, const Frame& frame) {
    const Storage& s = *planned.storage();
    auto storage =
        std::make_shared<const Storage>(Storage{nullptr, frame.buffers[at.buffer], s.bytes, s.writable});
    return Tensor::view_of(std::move(storage), planned.dtype(), planned.shape(), planned.strides(),
                           planned.offset());
  }

  const Node& node_;  // of the plan's graph
  Op op_;
  std::vector<Tensor> in_, out_;
  std::vector<Address> in_at_, out_at_;
};

}  // namespace

bool has_reference(const Op& op) { return op.info().meaning != Meaning::composite && !op.is<Fused>(); }

bool make_reference(Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (group.members().size() != 1 || group.members()[0] != &node) return false;
  if (!has_reference(node.op())) return false;
  if (!node.regions().empty() && !gives_sizes(node)) return false;
  if (const auto* custom = node.as<Custom>()) custom->loaded();  // before anything is computed
  std::vector<Tensor> reads, writes;
  for (const Value* v : node.inputs()) reads.push_back(planner.places().at(v));
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* out = node.output(i);
    writes.push_back(planner.places().place(out, row_major(out->rank()),
                                            [](const Tensor& t) { return t.is_contiguous(); }));
  }
  planner.emit(std::make_unique<ReferenceStep>(planner, node, reads, writes), node, reads, writes);
  return true;
}

}  // namespace tenon
