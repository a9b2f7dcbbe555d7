// If and Loop: run while the model is read where that is possible, else nodes with regions.
#include "ir/ops/control.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/region_node_builder.h"
#include "converter/onnx/table.h"
#include "converter/region_sizes.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

constexpr std::int64_t most_unrolled = 1000;

/// A bool of rank 0, as IR conditions are.
Ref condition(const Ref& r) { return r.rank() == 0 ? r : reshape(r, {}); }

std::optional<bool> known_bool(const Call& call, const Operand& o,
                               Values::Effort effort = Values::Effort::compute) {
  const auto known = call.values.data(o, effort);
  if (!known || known->numel() != 1) return std::nullopt;
  return known->reshape({}).get_int() != 0;
}

bool same_but_for_sizes(const std::vector<Type>& a, const std::vector<Type>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Type& x, const Type& y) { return x.dtype == y.dtype && x.rank() == y.rank(); });
}

Operands if_else(Call& call) {
  call.need(1);
  const GraphProto& then_branch = call.graph("then_branch");
  const GraphProto& else_branch = call.graph("else_branch");
  if (const auto known = known_bool(call, call.operand(0)))
    return call.run_graph(*known ? then_branch : else_branch, {});
  RegionNodeBuilder open(call.build, If{}, {condition(call.tensor(0)).value()}, 2);
  std::array<std::vector<Type>, 2> types;
  bool fit = true;  // as outputs of one node
  for (const std::size_t k : {0, 1}) {
    const auto inside = call.build.enter(open.node().region(k));
    const Operands results = call.run_graph(k == 0 ? then_branch : else_branch, {});
    if (is_poisoned(results)) return Operands(call.outputs(), Poisoned{});
    fit = fit && std::all_of(results.begin(), results.end(), [](const Operand& o) { return o.is_tensor(); });
    if (!fit) break;
    for (const Operand& o : results) {
      const Ref value = call.values.read(o);
      types[k].push_back(value.type());
      open.node().region(k).add_result(value.value());
    }
  }
  if (fit && types[0].size() != types[1].size())
    throw error("its branches have different numbers of outputs");
  if (fit && types[0] == types[1]) return open.finish();
  if (const auto fixed = known_bool(call, call.operand(0), Values::Effort::fix))
    return call.run_graph(*fixed ? then_branch : else_branch, {});
  if (fit && same_but_for_sizes(types[0], types[1])) {
    If op;
    BranchSizes sizes;
    for (std::size_t i = 0; i < types[0].size(); ++i)
      sizes.either(call.build, types[0][i], types[1][i], i, op);
    open.node().set_op(op);
    return open.finish();
  }
  throw unsupported("its branches give values of different types, and which one is taken is not known");
}

/// What the steps of a loop are given and leave.
struct LoopParts {
  const GraphProto& body;
  Operand trips, go_on;  // may be absent
  Operands carried;
  std::size_t slices = 0;  // outputs that are stacked
};

LoopParts parts_of(const Call& call) {
  LoopParts parts{call.graph("body"), call.operand(0), call.operand(1), {}};
  for (std::size_t i = 2; i < call.count(); ++i) parts.carried.push_back(call.operand(i));
  if (static_cast<std::size_t>(parts.body.input_size()) != parts.carried.size() + 2 ||
      static_cast<std::size_t>(parts.body.output_size()) < parts.carried.size() + 1)
    throw error("its body takes {} inputs and gives {} outputs for {} carried values",
                static_cast<std::size_t>(parts.body.input_size()),
                static_cast<std::size_t>(parts.body.output_size()), parts.carried.size());
  parts.slices = static_cast<std::size_t>(parts.body.output_size()) - parts.carried.size() - 1;
  return parts;
}

/// Step by step, when their number is known and each says whether to go on.
std::optional<Operands> unrolled(Call& call, LoopParts parts) {
  std::int64_t trips = most_unrolled + 1;
  if (!parts.trips.is<Absent>()) {
    const auto known = call.values.data(parts.trips, Values::Effort::fix);
    if (!known || known->numel() != 1) return std::nullopt;
    trips = known->reshape({}).get_int();
  }
  std::optional<bool> go_on =
      parts.go_on.is<Absent>() ? std::optional(true) : known_bool(call, parts.go_on, Values::Effort::fix);
  std::vector<std::vector<Ref>> slices(parts.slices);
  for (std::int64_t i = 0; i < trips; ++i) {
    if (!go_on || i > most_unrolled) return std::nullopt;
    if (!*go_on) break;
    Operands given = {Tensor::scalar(DType::i64, i), Tensor::scalar(DType::boolean, std::int64_t{1})};
    given.insert(given.end(), parts.carried.begin(), parts.carried.end());
    Operands out = call.run_graph(parts.body, std::move(given));
    if (is_poisoned(out)) return Operands(call.outputs(), Poisoned{});
    go_on = known_bool(call, out[0]);
    const auto first_slice = out.begin() + 1 + static_cast<std::ptrdiff_t>(parts.carried.size());
    parts.carried.assign(out.begin() + 1, first_slice);
    for (std::size_t s = 0; s < parts.slices; ++s) {
      const Ref row = call.values.read(*(first_slice + static_cast<std::ptrdiff_t>(s)));
      Shape shape = row.shape();
      shape.insert(shape.begin(), Dim(1));
      slices[s].push_back(reshape(row, shape));
    }
  }
  Operands out = std::move(parts.carried);
  for (const auto& rows : slices) {
    if (rows.empty()) return std::nullopt;  // what its rows would be, the body knows
    out.emplace_back(concat(rows, 0));
  }
  return out;
}

/// A loop that is written as a node.
class LoopNode {
 public:
  LoopNode(Call& call, const LoopParts& parts) : call_(call), parts_(parts), build_(call.build) {}

  /// The node's outputs; nullopt when steps change a type, or, unless `sizes_change`, a size or the number of
  /// steps is open and slices are stacked.
  std::optional<Operands> write(bool sizes_change) {
    for (const Operand& o : parts_.carried)
      if (!o.is_tensor()) return std::nullopt;
    begin();
    for (bool again = true; again;) {
      sizes_.begin();
      RegionNodeBuilder open(build_, op_, operands_, 1);
      if (!write_body(open.node().region())) return Operands(call_.outputs(), Poisoned{});
      if (!same_types(open.node().region())) return std::nullopt;
      const std::vector<StepSizes::Carried> values = carried(open.node().region());
      again = sizes_.learn(values);
      const Type* const changing = changing_slice(open.node().region());
      if (!sizes_change && (again || changing || (may_stop_ && parts_.slices > 0))) return std::nullopt;
      if (again) continue;
      if (changing) throw unsupported("it stacks tensors of another size ({}) in each step", changing->str());
      sizes_.complete(op_, build_, values);
      if (may_stop_) give_slices(op_, build_, parts_.slices);
      open.node().set_op(op_);
      return open.finish();
    }
    return std::nullopt;
  }

 private:
  /// The operands: whether to begin, and what is carried.
  void begin() {
    op_ = {.carried = static_cast<std::int64_t>(parts_.carried.size())};
    const auto go_on_known =
        parts_.go_on.is<Absent>() ? std::optional(true) : known_bool(call_, parts_.go_on);
    Ref go_on = go_on_known ? build_.literal(std::int64_t{*go_on_known}, DType::boolean)
                            : condition(call_.values.read(parts_.go_on));
    may_stop_ = go_on_known != true;
    if (!parts_.trips.is<Absent>()) {
      const auto known = call_.values.sizes(parts_.trips);
      if (known && known->elements.size() == 1) {
        op_.limit = max(known->elements[0], Dim(0));
      } else {
        count_ = reshape(call_.values.read(parts_.trips), {});
        go_on = logical_and(go_on, count_ > count_.literal(0));
      }
    }
    may_stop_ = may_stop_ || !op_.limit;
    operands_ = {go_on.value()};
    for (const Operand& o : parts_.carried) operands_.push_back(call_.values.read(o).value());
  }

  /// False when the body is poisoned.
  bool write_body(Region& region) {
    const auto inside = build_.enter(region);
    Operands given = {region.add_parameter({DType::i64, {}}),
                      Tensor::scalar(DType::boolean, std::int64_t{1})};
    for (std::size_t i = 1; i < operands_.size(); ++i)
      given.emplace_back(
          region.add_parameter(sizes_.before_step(build_, std::to_string(i), operands_[i]->type())));
    // The body may want the step, or the condition, as a vector of one element.
    for (const int i : {0, 1}) {
      const TypeProto& type = parts_.body.input(i).type();
      if (type.tensor_type().shape().dim_size() == 1)
        given[i] = reshape(call_.values.read(given[i]), {Dim(1)});
    }
    const Operands out = call_.run_graph(parts_.body, std::move(given));
    if (is_poisoned(out)) return false;
    const auto next = known_bool(call_, out[0]);
    may_stop_ = may_stop_ || next != true;
    Ref more =
        next ? build_.literal(std::int64_t{*next}, DType::boolean) : condition(call_.values.read(out[0]));
    if (count_) {
      const Ref steps_left = build_.ref(region.parameter(0)) + 1.0 < count_;
      more = next == true ? steps_left : logical_and(more, steps_left);
    }
    region.add_result(more.value());
    for (std::size_t i = 1; i < out.size(); ++i) region.add_result(call_.values.read(out[i]).value());
    return true;
  }

  bool same_types(const Region& region) const {
    std::vector<Type> before, after;
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      before.push_back(operands_[i]->type());
      after.push_back(region.results()[i]->type());
    }
    return same_but_for_sizes(before, after);
  }

  /// The type of a slice whose size depends on the step; null: none.
  const Type* changing_slice(const Region& region) const {
    for (std::size_t i = operands_.size(); i < region.results().size(); ++i)
      if (sizes_.depends_on_step(region, region.results()[i]->shape())) return &region.results()[i]->type();
    return nullptr;
  }

  std::vector<StepSizes::Carried> carried(const Region& region) const {
    std::vector<StepSizes::Carried> values;
    for (std::size_t i = 1; i < operands_.size(); ++i)
      values.push_back({std::to_string(i), operands_[i]->shape(), region.parameter(i)->shape(),
                        region.results()[i]->shape()});
    return values;
  }

  Call& call_;
  const LoopParts& parts_;
  Builder& build_;
  Loop op_;
  Ref count_;              // of steps, when it is known only when the model runs
  bool may_stop_ = false;  // before its limit
  std::vector<Value*> operands_;
  StepSizes sizes_;
};

Operands loop(Call& call) {
  const LoopParts parts = parts_of(call);
  if (auto node = LoopNode(call, parts).write(false)) return std::move(*node);
  if (auto steps = unrolled(call, parts)) return std::move(*steps);
  if (auto node = LoopNode(call, parts).write(true)) return std::move(*node);
  throw unsupported("what it carries changes its type, and the number of steps is not known");
}

}  // namespace

std::span<const OnnxEntry> control_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"If", if_else},
      OnnxEntry{"Loop", loop},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
