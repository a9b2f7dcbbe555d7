#include "runtime/gpu/product_candidates.h"

#include <algorithm>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/product_tiling.h"
#include "runtime/calls/epilogue.h"
#include "runtime/gpu/library_candidate.h"
#include "runtime/gpu/library_product.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/loop_fault.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/unit_proof.h"

namespace tenon::gpu {
namespace {

constexpr std::size_t max_buffers = 64;

// What runs a group.
struct Lowered {
  std::string kernel;  // "product"
  TileProgram tile;
  std::string suffix;  // "+prologue+tile": what it does besides
  double flops = 0;
  bool reads_32_bits = false;  // Product::reads_32_bits
  Order order;                 // of the result
  std::function<Sides(Planner&)> place;
  std::optional<LibraryEpilogue> library = {};  // the vendor's library is to compute it
};

// The device, with the units on which the product may be computed. It is none of TF32 or float8 where that
// unit is not there or fails.
GpuLimits limits_for(Gpu& gpu, Product& p) {
  GpuLimits limits = limits_of(gpu);
  const MatrixUnits wanted = units_for(p, limits);
  limits.units = proven(gpu, wanted);
  const auto lacks = [&](MatrixUnit unit) { return wanted.has(unit) && !limits.units.has(unit); };
  if (!lacks(MatrixUnit::tf32) && !lacks(MatrixUnit::f8) && !lacks(MatrixUnit::f8fnuz)) return limits;
  p.tf32 = p.float8 = false;
  limits.units = proven(gpu, units_for(p, limits));
  return limits;
}

std::string library_kernel(const Planner& planner, const LibraryEpilogue& e) {
  const Blas& library = blas(gpu_queue(*planner.device().queue).gpu().driver().vendor);
  return fmt::format("{} product{}", library.name, e.text());
}

// False: it does not compute this.
bool emit_by_library(Planner& planner, const Group& group, const Lowered& l, const Sides& sides,
                     const PlannedTensor& result, std::int64_t result_row) {
  std::vector<PlannedTensor> reads{sides.left[0], sides.right};
  LibraryProduct p{.left = sides.left[0],
                   .right = sides.right,
                   .result = result,
                   .relu = l.library->relu,
                   .product = sides.product,
                   .result_row = result_row};
  if (l.library->bias) {
    p.bias = planner.assignment().at(l.library->bias);
    reads.push_back(*p.bias);
  }
  auto step = library_step(gpu_of(planner), std::move(p));
  if (!step) return false;
  step->info = {.kernel = library_kernel(planner, *l.library), .flops = l.flops};
  planner.emit(std::move(step), group.node(), std::move(reads), {result});
  return true;
}

void emit(Planner& planner, const Group& group, Lowered l) {
  Gpu& gpu = gpu_of(planner);
  Sides sides = l.place(planner);
  const PlannedTensor result =
      planner.assignment().assign(group.node().output(), l.order,
                                  [&](const PlannedTensor& t) { return row_stride(t, l.order).has_value(); });
  const std::int64_t stride = *row_stride(result, l.order);
  sides.product.tf32 = planner.device().device.takes_tf32;
  sides.product.float8 = true;
  sides.product.reads_32_bits = l.reads_32_bits;
  if (l.library && emit_by_library(planner, group, l, sides, result, stride)) return;
  LoopProgram& epilogue = l.tile.program;
  epilogue.shape.operands.back().strides = {stride, 1};
  epilogue.code.operands.back().strides = {class_of(stride), Stride::one};

  const GpuLimits limits = limits_for(gpu, sides.product);
  ProductKernel kernel = product_kernel(sides.product, epilogue, limits);
  std::vector<PlannedTensor> reads = sides.left, writes{result};
  reads.push_back(sides.right);
  reads.insert(reads.end(), sides.zeros.begin(), sides.zeros.end());
  if (kernel.parts > 0) {
    writes.push_back(planner.bytes(static_cast<std::size_t>(kernel.parts) * size_of(kernel.part_type)));
    writes.push_back(planner.zeros(kernel.tickets));
    reads.insert(reads.end(), writes.begin() + 1, writes.end());
  }
  std::vector<std::vector<std::byte>> arguments{std::move(kernel.arguments),
                                                loop_arguments(epilogue, tile_form)};
  for (const LoopProgram& prologue : sides.product.prologue)
    arguments.push_back(loop_arguments(prologue, prologue_form));
  for (const Value* operand : l.tile.operands) reads.push_back(planner.assignment().at(operand));
  std::vector<PlannedTensor> buffers = reads;
  buffers.push_back(result);

  auto step = std::make_unique<LaunchStep>(
      gpu, LaunchStep::Kernel{.source = std::move(kernel.source),
                              .name = std::move(kernel.name),
                              .size = {.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                                       .block = kernel.block,
                                       .shared_bytes = kernel.shared_bytes},
                              .buffers = std::move(buffers),
                              .arguments = std::move(arguments),
                              .maps = std::move(kernel.maps),
                              .may_fault = kernel.may_fault,
                              .complaint = loop_error});
  step->info = {.kernel = fmt::format("{} {}{}", l.kernel, kernel.tiling, l.suffix), .flops = l.flops};
  planner.emit(std::move(step), group.node(), std::move(reads), std::move(writes));
}

// The time of cuBLASLt's kernel as a share of ours, as 18 products of 16 bits took it on an H100 (bench/gpu):
// 0.57 to 0.94 there. Nothing is known of other devices, and of float32 ours is the faster one as often. What
// its relu makes of NaN is its own.
double share_of_library(const Gpu& gpu, DType dtype, std::int64_t rows, const LibraryEpilogue& e) {
  const bool is_hopper = gpu.driver().vendor == Vendor::cuda && gpu.attribute(Attribute::compute_major) == 9;
  return is_hopper && size_of(dtype) == 2 && rows > most_rows_at_once && !e.relu ? 0.75 : 1;
}

// A candidate behind the kernel of ours, which is taken where the estimates are equal.
void add_library(const Planner& planner, const Group& group, const Node& anchor, const Value* bias,
                 DType left, const Work& work, std::vector<Candidate>& candidates, const Lowered& lowered) {
  Gpu& gpu = gpu_queue(*planner.device().queue).gpu();
  if (!blas(gpu.driver().vendor).ok() || left != anchor.output()->dtype() || !library_multiplies(left))
    return;
  const auto epilogue = LibraryEpilogue::match(planner, group, anchor, bias);
  if (!epilogue || epilogue->residual) return;
  price_without_unit(planner, left, work, candidates[0].info);
  Lowered by_library = lowered;
  by_library.library = epilogue;
  const auto sizes = eval(anchor.output()->shape(), {});
  const std::int64_t rows = sizes.empty() ? 1 : numel(sizes) / std::max<std::int64_t>(1, sizes.back());
  candidates.push_back(
      {{.kernel = library_kernel(planner, *epilogue),
        .work = work,
        .seconds = share_of_library(gpu, left, rows, *epilogue) * planner.estimate(work.flops, work.bytes),
        .order = lowered.order,
        .scratch_bytes = library_workspace},
       [=](Planner& p, const Group& g) { emit(p, g, by_library); }});
}

}  // namespace

LeftSide as_it_lies(Planner& planner, const Value* value) {
  const PlannedTensor at = planner.assignment().at(value);
  return {{at}, at, {}};
}

LeftSide Parts::left(Planner& planner, const Value* value, const Order& order) const {
  if (!prologue) return as_it_lies(planner, value);
  LeftSide side{{}, dense_layout(value->type()), {}};
  side.prologue = {prologue->program(planner, order, side.buffers)};
  return side;
}

bool multiplies(DType left, DType right) { return product_type(left, right).has_value(); }

std::vector<Candidate> product_candidates(const Planner& planner, const Parts& of, const Node& anchor,
                                          const Value* bias, const Order& order, Work work,
                                          const std::string& name, std::function<Sides(Planner&)> place,
                                          std::optional<DType> by_library) {
  const auto tile = TileProgram::match(planner, of.rest, anchor, bias, order);
  if (!tile) return {};
  // Two sides, their zero points, parts and tickets of shared tiles, the result.
  constexpr std::size_t others = 7;
  std::size_t buffers = tile->operands.size() + others;
  work.bytes += tile->bytes();
  if (work.arithmetic == ArithmeticKind::f32 && planner.device().device.takes_tf32)
    work.arithmetic = ArithmeticKind::tf32;
  std::string suffix = of.rest.results()[0] != anchor.output() || bias ? "+tile" : "";
  if (of.prologue) {
    const Work before = of.prologue->work();
    work.bytes += before.bytes;
    work.flops += before.flops;
    buffers += of.prologue->operands();
    suffix = "+prologue" + suffix;
    by_library = {};
  }
  if (buffers > max_buffers) return {};
  const CandidateInfo info{.kernel = name + suffix,
                           .work = work,
                           .seconds = planner.estimate(work.flops, work.bytes),
                           .order = order};
  const DType dtype = anchor.output()->dtype();
  const Lowered lowered{.kernel = name,
                        .tile = *tile,
                        .suffix = suffix,
                        .flops = work.flops,
                        .reads_32_bits = is_integral(dtype) && size_of(dtype) <= 4,
                        .order = order,
                        .place = std::move(place)};
  std::vector<Candidate> candidates{{info, [=](Planner& p, const Group& g) { emit(p, g, lowered); }}};
  if (by_library) add_library(planner, of.whole, anchor, bias, *by_library, work, candidates, lowered);
  return candidates;
}

}  // namespace tenon::gpu
