// If and Loop: run while the model is read where that is possible, else nodes with regions.
#include "ir/ops/control.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/region_node_builder.h"
#include "converter/onnx/table.h"
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
    if (rows.empty()) throw unsupported("a loop without a step that stacks what its steps give");
    out.emplace_back(concat(rows, 0));
  }
  return out;
}

/// A loop node; nullopt when what it carries changes its type from step to step.
std::optional<Operands> as_node(Call& call, const LoopParts& parts) {
  for (const Operand& o : parts.carried)
    if (!o.is_tensor()) return std::nullopt;
  Builder& build = call.build;
  Loop op{.carried = static_cast<std::int64_t>(parts.carried.size())};
  Ref count;  // of steps, when it is known only when the model runs
  const auto go_on_known = parts.go_on.is<Absent>() ? std::optional(true) : known_bool(call, parts.go_on);
  Ref go_on = go_on_known ? build.literal(std::int64_t{*go_on_known}, DType::boolean)
                          : condition(call.values.read(parts.go_on));
  if (!parts.trips.is<Absent>()) {
    const auto known = call.values.sizes(parts.trips);
    if (known && known->elements.size() == 1) {
      op.limit = max(known->elements[0], Dim(0));
    } else {
      count = reshape(call.values.read(parts.trips), {});
      go_on = logical_and(go_on, count > count.literal(0));
    }
  }
  std::vector<Value*> inputs = {go_on.value()};
  std::vector<Type> types;
  for (const Operand& o : parts.carried) {
    inputs.push_back(call.values.read(o).value());
    types.push_back(inputs.back()->type());
  }
  RegionNodeBuilder open(build, op, inputs, 1);
  Region& region = open.node().region();
  {
    const auto inside = build.enter(region);
    Operands given = {region.add_parameter({DType::i64, {}}),
                      Tensor::scalar(DType::boolean, std::int64_t{1})};
    for (std::size_t i = 0; i < types.size(); ++i) given.emplace_back(region.add_parameter(types[i]));
    // The body may want the step, or the condition, as a vector of one element.
    for (const int i : {0, 1}) {
      const TypeProto& type = parts.body.input(i).type();
      if (type.tensor_type().shape().dim_size() == 1)
        given[i] = reshape(call.values.read(given[i]), {Dim(1)});
    }
    const Operands out = call.run_graph(parts.body, std::move(given));
    if (is_poisoned(out)) return Operands(call.outputs(), Poisoned{});
    const auto next = known_bool(call, out[0]);
    Ref more =
        next ? build.literal(std::int64_t{*next}, DType::boolean) : condition(call.values.read(out[0]));
    if (count) {
      const Ref steps_left = build.ref(region.parameter(0)) + 1.0 < count;
      more = next == true ? steps_left : logical_and(more, steps_left);
    }
    if (parts.slices > 0 && (!op.limit || go_on_known != true || next != true)) return std::nullopt;
    region.add_result(more.value());
    for (std::size_t i = 1; i < out.size(); ++i) {
      const Ref value = call.values.read(out[i]);
      if (i <= types.size() && value.type() != types[i - 1]) return std::nullopt;
      region.add_result(value.value());
    }
  }
  return open.finish();
}

Operands loop(Call& call) {
  const LoopParts parts = parts_of(call);
  if (auto node = as_node(call, parts)) return std::move(*node);
  if (auto steps = unrolled(call, parts)) return std::move(*steps);
  throw unsupported(
      "it stacks what its steps give, or what it carries changes its type or size, and the number of steps "
      "is not "
      "known");
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
