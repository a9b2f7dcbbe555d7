#include "runtime/gpu/library_convolution.h"

#include <algorithm>
#include <limits>

#include "runtime/gpu/dnn_convolution.h"
#include "runtime/gpu/library_candidate.h"
#include "runtime/gpu/queue.h"

namespace tenon::gpu {
namespace {

class ConvolutionStep : public Step {
 public:
  explicit ConvolutionStep(std::unique_ptr<FoundConvolution> found) : found_(std::move(found)) {
    scratch_bytes = found_->scratch_bytes();
  }
  void run(const Frame& frame) const override {
    const auto at = [&](const std::optional<Address>& a) { return a ? frame.at(*a) : nullptr; };
    found_->run({.input = at(input),
                 .weights = at(weights),
                 .bias = at(bias),
                 .residual = at(residual),
                 .result = at(result),
                 .scratch = frame.scratch},
                gpu_queue(frame.queue).stream());
  }

  std::optional<Address> input, weights, bias, residual, result;

 private:
  std::unique_ptr<FoundConvolution> found_;
};

// Libraries number elements with int, and pad both sides alike.
bool has_size_of_libraries(const ConvCall& call) {
  const Value* const values[] = {call.x, call.weights_value, call.anchor->output()};
  for (const Value* v : values)
    if (numel(eval(v->shape(), {})) > std::numeric_limits<int>::max()) return false;
  const auto is_even = [](const ConvAxis& a) { return a.pad_before == a.pad_after && a.pad_before >= 0; };
  return is_even(call.shape.d) && is_even(call.shape.h) && is_even(call.shape.w);
}

DnnConvolution description(const ConvCall& call, const LibraryEpilogue& e, bool tf32) {
  const ConvShape& s = call.shape;
  DnnConvolution c{.dtype = call.x->dtype(), .groups = static_cast<int>(s.groups)};
  const auto add = [](std::vector<int>& to, long n) { to.push_back(static_cast<int>(n)); };
  for (const long n : {s.N, s.Cin}) add(c.input, n);
  for (const long n : {s.Cout, s.Cin / s.groups}) add(c.weights, n);
  for (const long n : {s.N, s.Cout}) add(c.result, n);
  for (const ConvAxis* axis : {&s.d, &s.h, &s.w}) {
    if (axis == &s.d && call.x->rank() < 5) continue;  // libraries know no fewer than two axes
    add(c.input, axis->in);
    add(c.weights, axis->kernel);
    add(c.result, s.out(*axis));
    add(c.pad, axis->pad_before);
    add(c.stride, axis->stride);
    add(c.dilation, axis->dilation);
  }
  c.bias = e.bias;
  c.residual = e.residual;
  c.relu = e.relu;
  c.tf32 = tf32;
  return c;
}

// Channels side by side, without gaps.
template <class T>
bool is_readable(const T& t) {
  return t.permute(channels_last(t.rank())).is_contiguous() && is_aligned_for_library(t);
}

constexpr const char* packed_form = "channels last";  // of weights

PlannedTensor weights_of(Planner& planner, const ConvCall& call) {
  const std::size_t rank = call.weights_value->rank();
  if (!call.weights.defined()) return planner.dense(call.weights_value, channels_last(rank));
  const std::size_t bytes = static_cast<std::size_t>(call.weights.numel()) * size_of(call.weights.dtype());
  const Tensor packed =
      planner.weights().packed(call.weights, packed_form, bytes, [&](const Tensor& w, std::byte* to) {
        const Tensor dense = w.permute(channels_last(rank)).contiguous();
        std::copy_n(dense.bytes(), bytes, to);
      });
  return planner.constant(
      Tensor::view_of(packed.storage(), call.weights.dtype(), {call.weights.numel()}, {1}, 0));
}

// False: it does not compute this.
bool emit_by_library(Planner& planner, const Group& group, const ConvCall& call, const LibraryEpilogue& e,
                     const StepInfo& info) {
  const PlannedTensor x = planner.assignment().at(call.x);
  if (!is_readable(x)) return false;
  if (e.bias && !is_aligned_for_library(planner.assignment().at(e.bias))) return false;
  std::vector<PlannedTensor> reads{x};
  if (e.residual && !is_readable(reads.emplace_back(planner.assignment().at(e.residual)))) return false;
  auto found = find_convolution(gpu_queue(planner.queue()).gpu(),
                                description(call, e, planner.device().device.takes_tf32));
  if (!found) return false;
  auto step = std::make_unique<ConvolutionStep>(std::move(found));
  step->info = info;
  step->input = x.address();
  if (e.residual) step->residual = reads.back().address();
  step->weights = reads.emplace_back(weights_of(planner, call)).address();
  if (e.bias) step->bias = reads.emplace_back(planner.assignment().at(e.bias)).address();
  const PlannedTensor result =
      planner.assignment().assign(group.node().output(), channels_last(call.x->rank()),
                                  [](const PlannedTensor& t) { return is_readable(t); });
  step->result = result.address();
  planner.emit(std::move(step), group.node(), std::move(reads), {result});
  return true;
}

}  // namespace

void add_library_convolution(const Planner& planner, const Group& group, const ConvCall& call,
                             std::vector<Candidate>& candidates) {
  const Vendor vendor = gpu_queue(*planner.device().queue).gpu().driver().vendor;
  const Dnn& library = dnn(vendor);
  const DType dtype = call.x->dtype();
  if (candidates.empty() || !library.ok() || call.shape.transposed || !has_size_of_libraries(call)) return;
  if (call.weights_value->dtype() != dtype || call.anchor->output()->dtype() != dtype) return;
  if (call.weights.defined() && call.weights.dtype() != dtype) return;
  if (!is_readable(planner.assignment().layout(call.x))) return;
  const auto e = LibraryEpilogue::match(planner, group, *call.anchor, call.bias);
  if (!e || !library_convolves(vendor, dtype, e->bias, e->residual, e->relu)) return;
  CandidateInfo& ours = candidates[0].info;
  Work work = ours.work;
  if (vendor == Vendor::hip)  // passes over the result
    work.bytes += 2.0 * bytes_of(call.anchor->output()->type()) * ((e->bias ? 1 : 0) + (e->relu ? 1 : 0));
  price_without_unit(planner, dtype, ours.work, ours);
  const StepInfo info{.kernel = fmt::format("{} convolution{}", library.name, e->text()),
                      .flops = work.flops};
  CandidateInfo by_library{.kernel = info.kernel,
                           .work = work,
                           .seconds = planner.estimate(work.flops, work.bytes),
                           .order = channels_last(call.x->rank()),
                           .scratch_bytes = library_workspace};
  if (call.weights.defined()) by_library.weights = packed_form;
  candidates.push_back(
      {std::move(by_library), [call, e = *e, info, by_ours = candidates[0].emit](Planner& p, const Group& g) {
         if (!emit_by_library(p, g, call, e, info)) by_ours(p, g);
       }});
}

}  // namespace tenon::gpu
