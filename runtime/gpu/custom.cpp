// Operators of a user's library on a GPU, by the kernel that the library has for it.
#include "ir/ops/custom.h"

#include "base/error.h"
#include "kernels/gpu/custom_source.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

using Kind = OperatorSignature::Kind;

// A text that does not compile is the user's.
class CustomStep : public LaunchStep {
 public:
  CustomStep(Gpu& gpu, Kernel kernel, LibraryKernel given)
      : LaunchStep(gpu, std::move(kernel)), given_(std::move(given)) {}
  void compile() override {
    try {
      LaunchStep::compile();
    } catch (const InternalError& e) {
      throw error("the kernel of {}: {}", given_.name, e.what()).at(given_.library.string());
    }
  }

 private:
  const LibraryKernel given_;
};

std::vector<const Value*> results_of(const Node& node) {
  std::vector<const Value*> results;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) results.push_back(node.output(i));
  return results;
}

// Null: the library has none, or one that cannot be called so.
const LibraryKernel* kernel_of(const Node& node) {
  const auto& op = *node.as<Custom>();
  const LibraryKernel* const kernel = find_library_kernel(op.operator_name());
  if (!kernel) return nullptr;
  int arguments = 0;
  for (const OperatorSignature::Argument& a : op.loaded().signature.arguments) {
    if (a.kind == Kind::text || a.kind == Kind::integers || a.kind == Kind::reals) return nullptr;
    arguments += a.kind != Kind::tensor;
  }
  if (arguments > custom_arguments || node.inputs().size() + node.num_outputs() > custom_tensors)
    return nullptr;
  const auto fits = [](const Value* v) {
    return v->rank() <= custom_rank && !is_complex(v->dtype()) && !is_string(v->dtype());
  };
  for (const Value* v : node.inputs())
    if (!fits(v)) return nullptr;
  for (const Value* v : results_of(node))
    if (!fits(v)) return nullptr;
  return kernel;
}

void fill_arguments(const Custom& op, CustomCall& call) {
  std::size_t next = 0;
  for (const OperatorSignature::Argument& a : op.loaded().signature.arguments) {
    if (a.kind == Kind::tensor) continue;
    const Attr& value = op.call[1 + next];
    if (a.kind == Kind::real) call.reals[next] = from_attr<double>(value);
    if (a.kind == Kind::integer) call.integers[next] = from_attr<std::int64_t>(value);
    if (a.kind == Kind::boolean) call.integers[next] = from_attr<bool>(value);
    ++next;
  }
}

void emit_custom(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const LibraryKernel kernel = *kernel_of(node);
  std::vector<PlannedTensor> reads, writes;
  for (const Value* v : node.inputs()) reads.push_back(planner.dense(v));
  for (const Value* v : results_of(node))
    writes.push_back(planner.assignment().assign(v, row_major(v->rank())));
  CustomCall call{.elements = writes[kernel.result].numel()};
  std::vector<DType> dtypes;
  std::vector<PlannedTensor> all = reads;
  all.insert(all.end(), writes.begin(), writes.end());
  for (const PlannedTensor& t : all) {
    std::copy(t.shape().begin(), t.shape().end(), call.sizes[dtypes.size()]);
    dtypes.push_back(t.dtype());
  }
  fill_arguments(*node.as<Custom>(), call);
  const auto bytes = std::as_bytes(std::span(&call, 1));
  const std::span types(dtypes);
  auto step = std::make_unique<CustomStep>(
      gpu_of(planner),
      LaunchStep::Kernel{.source = custom_source(kernel.source, kernel.function, types.first(reads.size()),
                                                 types.subspan(reads.size())),
                         .name = "custom",
                         .size = threads_for(call.elements, custom_threads),
                         .buffers = std::move(all),
                         .arguments = {{bytes.begin(), bytes.end()}}},
      kernel);
  step->info.op = step->info.kernel = kernel.name;
  planner.emit(std::move(step), node, std::move(reads), std::move(writes));
}

std::vector<Candidate> lower_custom(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (!node.is<Custom>() || !kernel_of(node)) return {};
  double bytes = 0;
  for (const Value* v : node.inputs()) bytes += bytes_of(v->type());
  for (const Value* v : results_of(node)) bytes += bytes_of(v->type());
  return {{{.kernel = node.as<Custom>()->operator_name(),
            .work = {.bytes = bytes},
            .seconds = planner.estimate(0, bytes)},
           emit_custom}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_custom_lowerings() {
  return {{.op = &op_info<Custom>(), .lower = gpu::lower_custom, .alone = true}};
}

}  // namespace tenon
