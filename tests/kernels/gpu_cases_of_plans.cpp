// Families whose launches the planner puts together: small graphs, and what the interpreter makes of them.
#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/parse.h"
#include "runtime/gpu/step.h"
#include "runtime/group.h"
#include "runtime/inputs.h"
#include "runtime/session.h"
#include "tests/kernels/gpu_cases.h"
#include "tests/kernels/planned_graphs.h"
#include "tests/kernels/planning_gpu.h"

namespace tenon::gpu {
namespace {

// Indices are in range, other integers small; floats have ties, zeros of both signs, and numbers that are not
// finite where the graph is to meet them.
Tensor input_of(const Value& input, const PlannedGraph& g, std::uint64_t seed) {
  const DType dtype = input.dtype();
  IntegerRange range = integer_range(input);
  const bool is_index = input.name() == "i" || input.name() == "j";
  if (is_index && g.places > 0) range = {0, g.places - 1};
  if (!is_index && range.max <= 1) range = {dtype == DType::u8 ? 0 : -9, 9};
  Tensor data = random_tensor(dtype, eval(input.shape(), {}), range, seed);
  if (g.values == Values::plain || !is_float(dtype)) return data;
  std::int64_t number = 0;
  for_each_index(data.shape(), [&](std::span<const std::int64_t> at) {
    const double x = data.get_double(at);
    if (g.values == Values::positive) return data.set_double(at, std::fabs(x) + 0.5);
    constexpr std::array<double, 6> special{NAN, -0.0, 0.0, INFINITY, NAN, -INFINITY};
    const auto i = static_cast<std::size_t>(number++ % 37);
    data.set_double(at, i < special.size() ? special[i] : std::round(4 * x) / 4);
  });
  return data;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  return {dense.bytes(), dense.bytes() + static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype())};
}

GpuLaunch launch_of(const LaunchStep& step, std::size_t faults_buffer) {
  const LaunchStep::Kernel& kernel = step.kernel();
  GpuLaunch launch{.source = kernel.source,
                   .kernel = kernel.name,
                   .grid = {kernel.size.grid[0], kernel.size.grid[1], kernel.size.grid[2]},
                   .block = kernel.size.block,
                   .shared_bytes = kernel.size.shared_bytes,
                   .maps = kernel.maps};
  for (const PlannedTensor& t : kernel.buffers)
    launch.buffers.push_back({t.address().buffer, t.address().offset});
  if (kernel.may_fault)
    launch.buffers.push_back({faults_buffer, static_cast<std::int64_t>(step.first_fault * sizeof(Fault))});
  for (const auto& argument : kernel.arguments)
    if (!argument.empty()) launch.arguments.push_back(argument);
  return launch;
}

void add_buffer(GpuCase& c, const Buffer& b, std::span<const Tensor> inputs,
                std::span<const Tensor> outputs) {
  std::vector<std::byte> before(b.bytes, std::byte{0xff}), after;  // NaN
  DType dtype = DType::u8;
  if (b.kind == Buffer::Kind::constant) before.assign(b.storage->data, b.storage->data + b.bytes);
  if (b.kind == Buffer::Kind::input) before = bytes_of(inputs[b.index]);
  if (b.kind == Buffer::Kind::output) {
    after = bytes_of(outputs[b.index]);
    dtype = outputs[b.index].dtype();
  }
  c.buffers.push_back(std::move(before));
  c.expected.push_back(std::move(after));
  c.dtypes.push_back(dtype);
}

void add_operators(GpuCase& c, const Graph& graph) {
  for (const auto& node : graph.body().nodes()) {
    const Group group(*node);
    for (const Node* member : group.members()) c.operators.emplace_back(member->op().info().name);
  }
}

GpuCase planned_case(const PlannedGraph& g, const Device& device) {
  const std::shared_ptr<Graph> graph = parse("graph g" + g.text);
  for (const auto& w : graph->weights()) graph->set_weight_data(w.get(), input_of(*w, g, 3));
  std::vector<Tensor> inputs;
  for (const auto& p : graph->body().parameters()) inputs.push_back(input_of(*p, g, 7 + inputs.size()));
  const std::vector<Tensor> outputs = evaluate(*graph, inputs);
  const auto plan = Session(graph, {.device = &device}).plan_for(inputs);
  GpuCase c{.name = g.name, .tolerance = g.tolerance};
  for (const auto& step : plan->steps) {
    const auto* launch = dynamic_cast<const LaunchStep*>(step.get());
    TENON_CHECK(launch);
    c.launches.push_back(launch_of(*launch, plan->buffers.size()));
  }
  TENON_CHECK(!c.launches.empty());  // else it is computed while the plan is made
  for (const Buffer& b : plan->buffers) add_buffer(c, b, inputs, outputs);
  const std::vector<std::int64_t> no_faults(plan->faults * sizeof(Fault) / sizeof(std::int64_t));
  c.buffers.push_back(gpu::bytes_of(no_faults));
  c.expected.push_back(c.buffers.back());
  c.dtypes.push_back(DType::i64);
  add_operators(c, *graph);
  return c;
}

}  // namespace

std::vector<GpuCase> planned_gpu_cases(int wave) {
  std::vector<GpuCase> cases;
  for (const PlannedGraph& g : planned_graphs()) cases.push_back(planned_case(g, planning_gpu(wave)));
  return cases;
}

}  // namespace tenon::gpu
