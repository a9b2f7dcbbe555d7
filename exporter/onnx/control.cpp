// If and Loop: regions are graphs that see the values outside.
#include "ir/ops/control.h"

#include <array>

#include "base/error.h"
#include "exporter/onnx/table.h"

namespace tenon::exporter::onnx {
namespace {

void set_results(OnnxWriter& w, const Node& n, const OnnxValues& results) {
  for (std::size_t i = 0; i < n.num_outputs(); ++i) w.set(n.output(i), results[i]);
  give_sizes(w, given_sizes(n), results);
}

std::vector<DType> result_dtypes(const Node& n) {
  std::vector<DType> out;
  for (std::size_t i = 0; i < n.num_outputs(); ++i) out.push_back(n.output(i)->dtype());
  return out;
}

std::vector<const Value*> results_of(const Region& region) {
  return {region.results().begin(), region.results().end()};
}

bool write_if(OnnxWriter& w, const Node& n) {
  const Source source = n.source;
  const auto branch = [&](std::size_t k) {
    Region& region = n.region(k);
    return w.inside([&] {
      for (const auto& p : region.parameters()) w.set(p.get(), w.value(n.input(p->index() + 1)));
      write_nodes(w, region);
      return results_of(region);
    });
  };
  Attributes branches = {{"then_branch", branch(0)}, {"else_branch", branch(1)}};
  w.set_source(source);
  if (n.num_outputs() > 0)
    set_results(w, n, w.add_all("If", {w.value(n.input())}, std::move(branches), result_dtypes(n)));
  return true;
}

/// The body's parameters are the step, whether it goes on, and what is carried; invariants are outside.
bool write_loop(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Loop>();
  const auto carried = static_cast<std::size_t>(op.carried);
  OnnxValues operands = {op.limit ? w.size_number(*op.limit) : OnnxValue{}};
  for (std::size_t i = 0; i <= carried; ++i) operands.push_back(w.value(n.input(i)));
  Region& region = n.region();
  const auto body = w.inside([&] {
    w.set(region.parameter(0), w.parameter(region.parameter(0)->type()));
    w.parameter({DType::boolean, {}});
    for (std::size_t i = 1; i < region.parameters().size(); ++i) {
      const Value* p = region.parameter(i);
      w.set(p, i <= carried ? w.parameter(p->type()) : w.value(n.input(i)));
    }
    for (const GivenSize& s : sizes_of_parameters(n))
      give_sizes(w, {{s.symbol, 0, s.axis}}, {w.value(region.parameter(s.value))});
    write_nodes(w, region);
    return results_of(region);
  });
  w.set_source(n.source);
  if (n.num_outputs() > 0) set_results(w, n, w.add_all("Loop", operands, {{"body", body}}, result_dtypes(n)));
  return true;
}

}  // namespace

std::span<const OnnxExportEntry> control_entries() {
  static constexpr std::array entries = {OnnxExportEntry{"if", write_if},
                                         OnnxExportEntry{"loop", write_loop}};
  return entries;
}

}  // namespace tenon::exporter::onnx
