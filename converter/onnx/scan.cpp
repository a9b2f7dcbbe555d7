// Scan: a loop over slices of its inputs.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/region_node_builder.h"
#include "converter/onnx/table.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// What a scan walks over.
struct ScanParts {
  const GraphProto& body;
  std::vector<Ref> states, sequences;
  Axes in_axes, backwards_in, out_axes, backwards_out;
  Ref length;  // i64, rank 0: of the steps that count; empty: all
};

/// Slices of the inputs, state carried along, slices of the outputs. nullopt when the body holds something
/// unsupported. Beyond `length` the states stay, and the slices are zero.
std::optional<Operands> scanned(Call& call, const ScanParts& parts) {
  Builder& build = call.build;
  const std::size_t states = parts.states.size();
  const Dim steps = parts.sequences[0].shape()[static_cast<std::size_t>(parts.in_axes[0])];
  std::vector<Value*> inputs = {build.literal(std::int64_t{1}, DType::boolean).value()};
  for (const Ref& state : parts.states) inputs.push_back(state.value());
  RegionNodeBuilder open(build, Loop{.carried = static_cast<std::int64_t>(states), .limit = steps}, inputs,
                         1);
  Region& region = open.node().region();
  {
    const auto inside = build.enter(region);
    const Ref step = build.ref(region.add_parameter({DType::i64, {}}));
    std::vector<Ref> before;
    for (std::size_t i = 0; i < states; ++i)
      before.push_back(build.ref(region.add_parameter(inputs[i + 1]->type())));
    Operands given(before.begin(), before.end());
    for (std::size_t i = 0; i < parts.sequences.size(); ++i) {
      Ref place = step;
      if (parts.backwards_in[i] != 0) {
        place = (parts.length ? parts.length - 1.0 : dim_value(steps - 1, step)) - step;
        if (parts.length) place = where(step < parts.length, place, step);
      }
      given.emplace_back(index_select(parts.sequences[i], parts.in_axes[i], place));
    }
    const Operands out = call.run_graph(parts.body, std::move(given));
    if (is_poisoned(out)) return std::nullopt;
    region.add_result(build.literal(std::int64_t{1}, DType::boolean).value());
    const Ref counts = parts.length ? step < parts.length : Ref();
    for (std::size_t i = 0; i < out.size(); ++i) {
      Ref value = call.values.read(out[i]);
      if (i < states && value.type() != inputs[i + 1]->type())
        throw unsupported("a state is {} before a step and {} after it", inputs[i + 1]->type().str(),
                          value.type().str());
      if (counts) value = where(counts, value, i < states ? before[i] : zeros_like(value));
      region.add_result(value.value());
    }
  }
  Operands out = open.finish();
  for (std::size_t i = 0; i < parts.out_axes.size(); ++i) {
    Ref all = call.values.read(out[states + i]);
    if (parts.backwards_out[i] != 0) all = flip(all, {0});
    const std::int64_t to = normalize_axis(parts.out_axes[i], all.rank());
    Axes order;
    for (std::int64_t a = 1; a < static_cast<std::int64_t>(all.rank()); ++a) order.push_back(a);
    order.insert(order.begin() + to, 0);
    out[states + i] = to == 0 ? all : permute(all, order);
  }
  return out;
}

/// The parts of a scan whose operands begin at `first`.
ScanParts scan_parts(const Call& call, std::size_t first) {
  ScanParts parts{.body = call.graph("body")};
  const std::size_t count = call.count() - std::min(first, call.count());
  const auto scanned = static_cast<std::size_t>(call.integer("num_scan_inputs"));
  if (scanned < 1 || scanned > count || static_cast<std::size_t>(parts.body.input_size()) != count)
    throw error("it has {} inputs, {} of them scanned, and its body takes {}", count, scanned,
                static_cast<std::size_t>(parts.body.input_size()));
  const std::size_t states = count - scanned;
  if (static_cast<std::size_t>(parts.body.output_size()) < states)
    throw error("its body gives {} outputs for {} states", static_cast<std::size_t>(parts.body.output_size()),
                states);
  for (std::size_t i = 0; i < count; ++i)
    (i < states ? parts.states : parts.sequences).push_back(call.tensor(first + i));
  return parts;
}

Axes listed(const Call& call, std::string_view name, std::size_t count) {
  Axes out = call.integers(name, Axes(count, 0));
  if (out.size() != count) throw error("its {} have {} elements, not {}", name, out.size(), count);
  return out;
}

/// In operator set 8 the first axis of all operands is that of samples, each with a length of its own.
Operands scan_of_samples(Call& call) {
  ScanParts all = scan_parts(call, 1);
  const std::size_t slices = static_cast<std::size_t>(all.body.output_size()) - all.states.size();
  const Dim samples = all.sequences[0].shape()[0];
  Builder& build = call.build;
  RegionNodeBuilder open(build, Loop{.carried = 0, .limit = samples},
                         {build.literal(std::int64_t{1}, DType::boolean).value()}, 1);
  Region& region = open.node().region();
  {
    const auto inside = build.enter(region);
    const Ref sample = build.ref(region.add_parameter({DType::i64, {}}));
    const auto own = [&](const Ref& r) { return index_select(r, 0, sample); };
    ScanParts one{.body = all.body};
    for (const Ref& r : all.states) one.states.push_back(own(r));
    for (const Ref& r : all.sequences) one.sequences.push_back(own(r));
    one.in_axes = Axes(one.sequences.size(), 0);
    one.backwards_in = listed(call, "directions", one.sequences.size());
    one.out_axes = one.backwards_out = Axes(slices, 0);
    if (call.has(0)) one.length = own(cast(DType::i64, call.tensor(0)));
    const auto out = scanned(call, one);
    if (!out) return Operands(call.outputs(), Poisoned{});
    region.add_result(build.literal(std::int64_t{1}, DType::boolean).value());
    for (const Operand& o : *out) region.add_result(call.values.read(o).value());
  }
  return open.finish();
}

Operands scan(Call& call) {
  if (call.version < 9) return scan_of_samples(call);
  ScanParts parts = scan_parts(call, 0);
  const std::size_t sequences = parts.sequences.size();
  const std::size_t slices = static_cast<std::size_t>(parts.body.output_size()) - parts.states.size();
  parts.in_axes = listed(call, "scan_input_axes", sequences);
  for (std::size_t i = 0; i < sequences; ++i)
    parts.in_axes[i] = normalize_axis(parts.in_axes[i], parts.sequences[i].rank());
  parts.backwards_in = listed(call, "scan_input_directions", sequences);
  parts.out_axes = listed(call, "scan_output_axes", slices);
  parts.backwards_out = listed(call, "scan_output_directions", slices);
  const auto out = scanned(call, parts);
  return out ? *out : Operands(call.outputs(), Poisoned{});
}

}  // namespace

std::span<const OnnxEntry> scan_entries() {
  static constexpr std::array entries = {OnnxEntry{"Scan", scan}};
  return entries;
}

}  // namespace tenon::converter::onnx
