// Attention in f32, heads read and written where they lie.
#include "kernels/cpu/attention.h"

#include <cmath>

#include "ir/ops/attention.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class AttentionStep : public CpuStep {
 public:
  explicit AttentionStep(const cpu::Attention& call) : call_(call) {}

  void compute(const CpuFrame& frame) const override {
    cpu::Attention call = call_;
    call.q = frame.at<const float>(q);
    call.k = frame.at<const float>(k);
    call.v = frame.at<const float>(v);
    call.out = frame.at<float>(out);
    if (float_mask) call.float_mask = frame.at<const float>(*float_mask);
    if (bool_mask) call.bool_mask = frame.at<const std::uint8_t>(*bool_mask);
    cpu::attention(call, frame.scratch, frame.pool);
  }

  Address q, k, v, out;
  std::optional<Address> float_mask, bool_mask;

 private:
  cpu::Attention call_;
};

// [batch, heads, rows, size] with broadcast leading axes.
PlannedTensor as_heads(const PlannedTensor& t, const Index& result) {
  Index shape = result;
  shape[shape.size() - 2] = t.shape()[t.rank() - 2];
  shape[shape.size() - 1] = t.shape()[t.rank() - 1];
  const PlannedTensor full = t.expand(shape);
  Index four(4 - shape.size(), 1);
  four.insert(four.end(), shape.begin(), shape.end());
  return full.expand(four);
}

cpu::HeadStrides strides_of(const Strided& heads) {
  return {heads.strides()[0], heads.strides()[1], heads.strides()[2]};
}

PlannedTensor with_contiguous_rows(Planner& planner, const Value* value) {
  const PlannedTensor place = planner.places().at(value);
  return last_axis_is_contiguous(place) ? place : planner.dense(value);
}

}  // namespace

bool make_attention(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<Attention>();
  if (!op) return false;
  const Value* result = node.output();
  const std::size_t rank = result->rank();
  const Index sizes = eval(result->shape(), {});
  if (result->dtype() != DType::f32 || rank > 4 || numel(sizes) == 0) return false;
  for (std::size_t i = 0; i < 3; ++i)
    if (node.input(i)->rank() > rank || numel(node.input(i)->shape()) == 0) return false;

  std::vector<PlannedTensor> reads;
  for (std::size_t i = 0; i < 3; ++i) reads.push_back(with_contiguous_rows(planner, node.input(i)));
  const PlannedTensor q = as_heads(reads[0], sizes), k = as_heads(reads[1], sizes),
                      v = as_heads(reads[2], sizes);
  const Order wished = planner.places().order_for_reader(result);
  const bool keeps_rows = wished.back() == static_cast<std::int64_t>(rank) - 1;
  const PlannedTensor out =
      planner.places().place(result, keeps_rows ? wished : row_major(rank),
                             [](const PlannedTensor& t) { return last_axis_is_contiguous(t); });
  const PlannedTensor heads = as_heads(out, sizes);

  cpu::Attention call{.batch = heads.shape()[0], .heads = heads.shape()[1], .kv_heads = heads.shape()[1]};
  call.queries = q.shape()[2];
  call.keys = k.shape()[2];
  call.size = q.shape()[3];
  call.value_size = v.shape()[3];
  call.q_strides = strides_of(q);
  call.k_strides = strides_of(k);
  call.v_strides = strides_of(v);
  call.out_strides = strides_of(heads);
  call.scale = static_cast<float>(op->scale.value_or(1 / std::sqrt(static_cast<double>(call.size))));
  call.causal = op->causal;
  call.nan_rows = op->nan_rows;
  std::optional<Address> float_mask, bool_mask;
  if (node.inputs().size() > 3) {
    reads.push_back(planner.places().at(node.input(3)));
    Index scores = sizes;
    scores[rank - 1] = call.keys;
    const PlannedTensor mask = as_heads(reads.back().expand(scores), scores);
    call.mask_strides = strides_of(mask);
    call.mask_key_stride = mask.strides()[3];
    (is_bool(mask.dtype()) ? bool_mask : float_mask) = mask.address();
  }
  auto step = std::make_unique<AttentionStep>(call);
  step->q = q.address();
  step->k = k.address();
  step->v = v.address();
  step->out = out.address();
  step->float_mask = float_mask;
  step->bool_mask = bool_mask;
  step->scratch_bytes = cpu::attention_scratch_bytes(call, planner.queue().threads());
  step->info.kernel = "attention";
  planner.emit(std::move(step), node, std::move(reads), {out});
  return true;
}

}  // namespace tenon
