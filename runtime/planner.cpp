#include "runtime/planner.h"

#include <algorithm>
#include <cstring>

#include "base/alignment.h"
#include "base/count.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/progress.h"
#include "ir/evaluate.h"
#include "ir/flops.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/logic.h"
#include "ir/ops/shape.h"
#include "runtime/arena.h"
#include "runtime/arithmetic.h"
#include "runtime/buffer_uses.h"
#include "runtime/byte_images.h"
#include "runtime/calls/prologue.h"
#include "runtime/centred_bytes.h"
#include "runtime/constant_value.h"
#include "runtime/decompose.h"
#include "runtime/group_split.h"
#include "runtime/joined_steps.h"
#include "runtime/shared/general.h"
#include "runtime/shared/transfer.h"
#include "runtime/tuning/choices.h"
#include "runtime/widen.h"
#include "runtime/widen_integers.h"

namespace tenon {
namespace {
// Of a value that is computed while the plan is made; all of them together may be as much more than the
// weights. What is beyond is computed by each run.
constexpr std::size_t max_folded_bytes = std::size_t{64} << 20;

std::unique_ptr<Graph> for_device(std::unique_ptr<Graph> graph, const Device& device, WeightStore& weights) {
  widen_small_floats(*graph, device);
  widen_integers(*graph, device);
  read_bytes(*graph, device);
  hold_images_in_bytes(*graph, device, weights);
  take_prologues(*graph, device);
  return graph;
}

bool never_fails(const Node& node) {
  const bool moves =
      node.is<Reshape>() || node.is<Permute>() || node.is<Slice>() || node.is<Expand>() || node.is<Concat>();
  const bool is_exact = node.is<Add>() || node.is<Sub>() || node.is<Mul>() || node.is<BitAnd>() ||
                        node.is<BitXor>() || node.is<ShiftLeft>() || node.is<ShiftRight>();
  return moves || is_exact || node.is<Cast>() ||
         (node.op().is_pointwise() && is_float(node.output()->dtype()));
}

}  // namespace

Planner::Planner(std::unique_ptr<Graph> graph, OpenDevice& device, PlanOptions options)
    : graph_(for_device(std::move(graph), device.device, device.weights)),
      open_(device),
      device_(device.device),
      options_(device.device.shares_memory ? PlanOptions{.runs_once = options.runs_once}
                                           : std::move(options)),
      may_fold_(max_folded_bytes),
      buffers_(device_.memory),
      assignment_(*graph_, buffers_, options_.pinned_outputs) {
  for (const auto& weight : graph_->weights())
    may_fold_ += static_cast<std::size_t>(bytes_of(weight->type()));
  assignment_.works_channels_last = [this](const Op& op) { return device_.works_channels_last(op); };
}

std::unique_ptr<Plan> Planner::plan() {
  choose();
  if (!refusal_.empty()) throw refusal_.error(device_);
  request();
  return finish();
}

void Planner::choose() {
  const auto& nodes = graph_->body().nodes();
  Node* node = nodes.empty() ? nullptr : nodes.front().get();
  Count count("nodes", nodes.size());
  while (node) {
    count.step();
    node = plan_node(*node);
  }
  copy_results();
  if (options_.is_recorded || device_.shares_memory) join_steps(*plan_);
}

void Planner::request() {
  for (const auto& step : plan_->steps) step->request();
}

std::unique_ptr<Plan> Planner::finish() {
  for (const auto& step : plan_->steps) step->compile();
  number_faults();
  if (options_.is_recorded && queue().recorded_streams() > 0)
    plan_->recorded = recorded_ranges(plan_->steps, queue().recorded_streams());
  lay_out_buffers();
  plan_->shares_memory = device_.shares_memory;
  plan_->buffers = buffers_.list();
  plan_->assigned = assignment_.all();
  for (const auto& parameter : graph_->body().parameters()) plan_->inputs.push_back(parameter->type());
  for (const Value* result : graph_->body().results()) plan_->outputs.push_back(result->type());
  plan_->graph = std::move(graph_);
  return std::move(plan_);
}

// Returns the node to go on with: the next one, or the first of those that stand for this one now.
Node* Planner::plan_node(Node& node) {
  current_ = &node;
  Region& body = graph_->body();
  if (const auto taken = known_branch(node)) return body.inline_region(&node, *taken);
  if (!computes_nothing(node) && !fold(node)) {
    Node* const next = body.next(&node);
    const Lowered lowered = lower(node);
    if (lowered == Lowered::in_parts) return next;
    if (lowered == Lowered::not_at_all) {
      if (Node* const prologue = split_prologue(node)) return prologue;
      if (has_parts(node)) return decompose(node);
      refuse(node);
    }
  }
  assignment_.finish(node);
  return body.next(&node);
}

void Planner::number_faults() {
  for (const auto& step : plan_->steps) {
    step->first_fault = plan_->faults;
    plan_->faults += step->faults;
  }
}

void Planner::lay_out_buffers() {
  Plan& plan = *plan_;
  const std::size_t multiple = std::max(device_.memory.alignment, device_.memory.page_skew);
  const auto aligned = [&](std::size_t bytes) { return aligned_up(bytes, multiple); };
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    for (const auto* tensors : {&plan.steps[i]->reads, &plan.steps[i]->writes})
      for (const PlannedTensor& t : *tensors) buffers_.touch(t, static_cast<int>(i));
  auto& buffers = buffers_.list();
  const auto lay_out_arena = [&](Space space, FunctionRef<bool(std::size_t, std::size_t)> meet) {
    std::vector<std::size_t> used, bytes;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (buffers[b].kind != Buffer::Kind::arena || buffers[b].space != space || buffers[b].first < 0)
        continue;
      used.push_back(b);
      bytes.push_back(buffers[b].bytes);
    }
    const ArenaLayout layout = lay_out(
        bytes, [&](std::size_t i, std::size_t k) { return meet(used[i], used[k]); }, device_.memory);
    for (std::size_t i = 0; i < used.size(); ++i) buffers[used[i]].offset = layout.offsets[i];
    return aligned(layout.bytes);
  };
  const auto live_together = [&](std::size_t a, std::size_t b) {
    return buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
  };
  plan.arena_bytes = plan.one_stream_bytes = lay_out_arena(Space::device, live_together);
  plan.pinned_arena_bytes = lay_out_arena(Space::pinned, live_together);
  if (std::ranges::any_of(plan.recorded, [](const auto& r) { return count_streams(r.places) > 1; })) {
    const BufferUses uses(plan.steps, plan.recorded, buffers.size());
    const auto meet = [&](std::size_t a, std::size_t b) { return uses.meet(a, b); };
    plan.arena_bytes = lay_out_arena(Space::device, meet);
    plan.pinned_arena_bytes = lay_out_arena(Space::pinned, meet);
  }
  for (const auto& step : plan.steps) {
    plan.scratch_bytes = std::max(plan.scratch_bytes, step->scratch_bytes);
    plan.host_scratch_bytes = std::max(plan.host_scratch_bytes, step->host_scratch_bytes);
  }
  for (Buffer& b : buffers_.list()) {
    if (b.make) {
      if (b.first >= 0)
        b.storage = b.constant_bytes();
      else
        b.bytes = 0;  // no step reads it
    }
    if (b.kind == Buffer::Kind::constant && b.space == Space::device && !device_.shares_memory &&
        b.first >= 0)
      b.copy = open_.weights.resident(*b.storage);
    if (b.kind != Buffer::Kind::input && b.kind != Buffer::Kind::output) continue;
    b.offset = plan.staging_bytes;
    plan.staging_bytes += aligned(b.bytes);
  }
}

// A weight of floats of 16 or 8 bits that is read as float32 is widened once for all plans, if a step reads
// it so: most kernels pack it as it is. Products of GPUs read float8 so, too.
bool Planner::fold_widened_weight(const Node& node) {
  const Cast* cast = node.as<Cast>();
  if (!cast || cast->to != DType::f32 || !is_small_float(node.input()->dtype())) return false;
  const auto weight = assignment_.constant(node.input());
  if (!weight) return false;
  const auto bytes = static_cast<std::size_t>(bytes_of(node.output()->type()));
  const auto widen = [&store = open_.weights, weight = *weight, bytes] {
    const auto fill = [&](const Tensor& w, std::byte* target) {
      const Tensor floats = w.to(DType::f32).contiguous();
      std::memcpy(target, floats.bytes(), bytes);
    };
    return store.packed(weight, "f32", bytes, fill).storage();
  };
  assignment_.bind(node.output(), buffers_.constant(DType::f32, weight->shape(), widen));
  if (device_.widens() || is_float8(weight->dtype())) stored_weights_.emplace(node.output(), *weight);
  return true;
}

// What is made of a weight of 8-bit integers by operators that cannot fail: numbers that these stand for, or
// integers of fewer bits that they hold. It is made once for all plans, if a step reads it: kernels of
// products pack the integers.
bool Planner::fold_widened_codes(const Node& node) {
  const auto members = Group(node).members();
  if (!std::all_of(members.begin(), members.end(), [](const Node* n) { return never_fails(*n); }))
    return false;
  const auto is_code = [&](const Value* v) {
    while (v->node() && is_view(v->node()->op())) v = v->node()->input();
    return from_codes_.contains(v) || (v->kind() == Value::Kind::weight && tenon::size_of(v->dtype()) == 1);
  };
  if (!std::any_of(node.inputs().begin(), node.inputs().end(), is_code)) return false;
  if (!std::all_of(node.inputs().begin(), node.inputs().end(),
                   [](const Value* v) { return ConstantValue(v).is_constant(); }))
    return false;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const ConstantValue value(node.output(i));
    const auto bytes = static_cast<std::size_t>(bytes_of(node.output(i)->type()));
    const auto make = [&store = open_.weights, value, bytes] {
      const auto fill = [&](const Tensor&, std::byte* target) {
        const Tensor numbers = value.evaluate().contiguous();
        std::memcpy(target, numbers.bytes(), bytes);
      };
      return store.packed(value.first_weight(), value.text(), bytes, fill).storage();
    };
    assignment_.bind(node.output(i),
                     buffers_.constant(node.output(i)->dtype(), eval(node.output(i)->shape(), {}), make));
    from_codes_.insert(node.output(i));
  }
  return true;
}

std::optional<Tensor> Planner::stored_weight(const Value* value) const {
  const auto stored = stored_weights_.find(value);
  return stored == stored_weights_.end() ? assignment_.constant(value) : stored->second;
}

// What depends on weights, sizes and tensors without elements alone is computed now. What fails then fails
// when it is reached.
bool Planner::fold(const Node& node) {
  if (fold_widened_weight(node)) return true;
  if (node.is<Permute>() || node.is<Slice>() || node.is<Expand>()) return false;
  if (fold_widened_codes(node)) return true;
  if (node.op().info().regions > 0) return false;
  std::vector<Tensor> inputs;
  for (const Value* v : node.inputs()) {
    const bool is_empty = numel(v->shape()) == Dim(0) && !is_string(v->dtype());
    const auto known =
        is_empty ? std::optional(Tensor::empty(v->dtype(), eval(v->shape(), {}))) : assignment_.constant(v);
    if (!known) return false;
    inputs.push_back(*known);
  }
  if (node.is<Check>()) return inputs[0].get_int() != 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const auto size = static_cast<std::size_t>(bytes_of(node.output(i)->type()));
    if (size > max_folded_bytes) return false;
    bytes += size;
  }
  if (bytes > may_fold_) return false;
  may_fold_ -= bytes;
  try {
    const std::vector<Tensor> outputs = evaluate(node.op(), inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      assignment_.bind(node.output(i), buffers_.constant(outputs[i].contiguous()));
    return true;
  } catch (const Error& e) {
    if (e.code() == environment_failed) throw;
    return false;
  }
}

// Which region an if on sizes or weights alone takes.
std::optional<std::size_t> Planner::known_branch(const Node& node) const {
  const auto condition = node.is<If>() ? assignment_.constant(node.input()) : std::nullopt;
  if (!condition) return std::nullopt;
  return condition->get_int() != 0 ? 0 : 1;
}

// Results without elements need a place, but no step.
bool Planner::computes_nothing(const Node& node) {
  if (node.num_outputs() == 0 || may_stop(node)) return false;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (numel(node.output(i)->shape()).value() != 0) return false;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* out = node.output(i);  // a concatenation has its place since its first part
    if (!assignment_.known(out)) assignment_.assign(out, row_major(out->rank()));
  }
  return true;
}

// The group in two parts takes as long as the whole and what moves through memory between them.
std::vector<CandidateInfo> Planner::splits(const Group& group, std::span<const CandidateInfo> wholes) const {
  const CandidateInfo& least = *std::ranges::min_element(wholes, {}, &CandidateInfo::seconds);
  std::vector<CandidateInfo> splits;
  for (GroupSplit& split : splits_of(group))
    splits.push_back({.kernel = std::move(split.name),
                      .work = {.flops = least.work.flops, .bytes = least.work.bytes + split.bytes},
                      .seconds = least.seconds + estimate(0, split.bytes),
                      .splits_before = split.before});
  return splits;
}

// Of a node that is lowered in parts nothing is left.
Planner::Lowered Planner::lower(Node& node) {
  if (node.is<Fused>() && device_.lowerings_of(Group(node)).empty()) decompose_composites(node.region());
  const Group group(node);
  std::vector<Candidate> candidates;
  const auto add = [&](Lowering lowering) {
    for (Candidate& c : lowering(*this, group)) candidates.push_back(std::move(c));
  };
  for (const OpLowering* l : device_.lowerings_of(group)) add(l->lower);
  for (const GeneralLowering& g : device_.general) add(g.lower);
  if (candidates.empty()) return Lowered::not_at_all;

  Choice choice{.group = group.text(),
                .key = choice_key(group),
                .source = node.source.str(),
                .first_step = plan_->steps.size()};
  for (const Candidate& c : candidates) {
    choice.candidates.push_back(c.info);
    choice.candidates.back().knobs = c.info.knobs | device_.knobs;
  }
  choice.splits = splits(group, choice.candidates);
  std::vector<CandidateInfo> all = choice.candidates;
  all.insert(all.end(), choice.splits.begin(), choice.splits.end());
  Decision decision = open_.choose(group, all);
  TENON_CHECK(decision.candidate < all.size());
  choice.taken = std::min(decision.candidate, candidates.size());
  if (choice.taken == candidates.size()) choice.candidates.push_back(all[decision.candidate]);
  choice.why = std::move(decision.why);
  CandidateInfo& taken = choice.candidates[choice.taken];
  TENON_CHECK(taken.knobs.have(decision.schedule));
  taken.kernel = scheduled(taken.kernel, decision.schedule);
  kernel_ = taken.kernel;
  schedule_ = decision.schedule;
  arithmetic_ = taken.work.arithmetic;
  const std::size_t splits_before = taken.splits_before, number = plan_->choices.size();
  plan_->choices.push_back(std::move(choice));
  if (splits_before == 0) {
    candidates[plan_->choices[number].taken].emit(*this, group);
  } else {
    Node* const end = graph_->body().next(&node);
    for (Node* part = split_group(node, splits_before); part != end;) part = plan_node(*part);
    for (std::size_t i = number + 1; i < plan_->choices.size(); ++i) plan_->choices[i].is_part = true;
  }
  plan_->choices[number].steps = plan_->steps.size() - plan_->choices[number].first_step;
  return splits_before == 0 ? Lowered::as_it_is : Lowered::in_parts;
}

void Planner::refuse(const Node& node) {
  refusal_.add(node);
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (!assignment_.known(node.output(i)))
      assignment_.assign(node.output(i), row_major(node.output(i)->rank()));
}

double Planner::estimate(double cost, double bytes) const { return device_.estimate(threads(), cost, bytes); }

double Planner::estimate_copy(const Value* value, FunctionRef<bool(const Strided&)> fits) const {
  return fits(assignment_.layout(value)) ? 0 : estimate(0, 2 * bytes_of(value->type()));
}

PlannedTensor Planner::copied(const Value* value, const Order& order,
                              FunctionRef<bool(const PlannedTensor&)> fits) {
  const PlannedTensor place = assignment_.at(value);
  if (fits(place)) return place;
  for (const PlannedTensor& copy : copies_[value])
    if (fits(copy)) return copy;
  const PlannedTensor target = buffers_.arena(value->dtype(), place.shape(), order, fits);
  copy(place, target, current_);
  copies_[value].push_back(target);
  return target;
}

PlannedTensor Planner::rows(const Value* value, const Order& order) {
  return copied(value, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
}

PlannedTensor Planner::dense(const Value* value) { return dense(value, row_major(value->rank())); }

PlannedTensor Planner::dense(const Value* value, const Order& order) {
  return copied(value, order, [&](const PlannedTensor& t) { return t.permute(order).is_contiguous(); });
}

PlannedTensor Planner::broadcast(const Value* value, const Index& sizes) {
  if (eval(value->shape(), {}) == sizes) return dense(value);
  const PlannedTensor place = assignment_.at(value).expand(sizes);
  const PlannedTensor target = buffers_.arena(value->dtype(), sizes, row_major(sizes.size()),
                                              [](const PlannedTensor& t) { return t.is_contiguous(); });
  copy(place, target, current_);
  return target;
}

PlannedTensor Planner::on_host(const Value* value) {
  if (device_.shares_memory) return assignment_.at(value);
  if (const auto constant = assignment_.constant(value)) return buffers_.constant(*constant, Space::host);
  const auto found = host_copies_.find(value);
  if (found != host_copies_.end()) return found->second;
  const PlannedTensor from = dense(value);
  const PlannedTensor to = buffers_.pinned(from.dtype(), from.shape());
  if (from.numel() > 0) add(make_transfer(from, to, "copy to host"), current_, {from}, {to});
  return host_copies_.emplace(value, to).first->second;
}

PlannedTensor Planner::written_by_host(const PlannedTensor& tensor) {
  return device_.shares_memory ? tensor : buffers_.pinned(tensor.dtype(), tensor.shape());
}

void Planner::upload(const PlannedTensor& from, const PlannedTensor& to, const Node* node) {
  if (from.buffer() == to.buffer() || from.numel() == 0) return;
  add(make_transfer(from, to, "copy to device"), node, {from}, {to});
}

const PlannedTensor& Planner::derived(const std::vector<const Value*>& from, const std::string& form,
                                      FunctionRef<PlannedTensor()> make) {
  const auto [entry, is_new] = derived_.try_emplace({from, form});
  if (is_new) entry->second = make();
  return entry->second;
}

PlannedTensor Planner::zeros(std::int64_t count) {
  constexpr std::int64_t at_once = 1 << 14;
  if (!zeros_ || zeros_->numel() < count)
    zeros_ = constant(Tensor::zeros(DType::i32, {std::max(count, at_once)}));
  const PlannedTensor taken = zeros_->slice(0, 0, count);
  zeros_ = zeros_->slice(0, count, zeros_->numel());
  return taken;
}

PlannedTensor Planner::bytes(std::size_t count) {
  const Index sizes{static_cast<std::int64_t>(count)};
  return buffers_.arena(DType::u8, sizes, row_major(1), [](const PlannedTensor&) { return true; });
}

void Planner::prepare(std::unique_ptr<Step> step, std::vector<PlannedTensor> reads,
                      std::vector<PlannedTensor> writes) {
  if (current_ && step->info.op.empty()) step->info.op = Group(*current_).ops();
  add(std::move(step), current_, std::move(reads), std::move(writes));
}

void Planner::emit(std::unique_ptr<Step> step, const Node& node, std::vector<PlannedTensor> reads,
                   std::vector<PlannedTensor> writes) {
  step->info.op = Group(node).ops();
  if (step->info.kernel.empty()) step->info.kernel = kernel_;
  step->schedule = schedule_;
  if (step->info.flops == 0) step->info.flops = flops(node);
  const DType dtype = node.num_outputs() > 0 ? node.output(0)->dtype() : DType::f32;
  step->info.arithmetic = arithmetic_.value_or(arithmetic_of(dtype));
  add(std::move(step), &node, std::move(reads), std::move(writes));
}

void Planner::add(std::unique_ptr<Step> step, const Node* node, std::vector<PlannedTensor> reads,
                  std::vector<PlannedTensor> writes) {
  for (const auto* tensors : {&reads, &writes})
    for (const PlannedTensor& t : *tensors)
      step->info.bytes += static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype()));
  if (node) step->info.source = node->source;
  step->reads = std::move(reads);
  step->writes = std::move(writes);
  plan_->steps.push_back(std::move(step));
  plan_->nodes.push_back(node);
}

void Planner::copy(const PlannedTensor& from, const PlannedTensor& to, const Node* node) {
  if (is_same_memory(from, to) || from.numel() == 0) return;
  const PlannedTensor read = buffers_.repeated(from);
  add(device_.make_copy(read, to), node, {read}, {to});
}

void Planner::copy_results() {
  const auto& results = graph_->body().results();
  current_ = nullptr;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PlannedTensor& output = assignment_.output(i);
    if (buffers_.of(output).space == Space::device) {
      copy(assignment_.at(results[i]), output, nullptr);
      continue;
    }
    const PlannedTensor from = dense(results[i]);
    if (from.numel() > 0) add(make_transfer(from, output, "copy to host"), nullptr, {from}, {output});
  }
}

}  // namespace tenon
