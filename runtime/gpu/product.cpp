// Products of matrices and convolutions on a GPU, with all that their group does behind them.
#include <algorithm>

#include "ir/ops/conv.h"
#include "ir/ops/linear.h"
#include "kernels/gpu/product_tiling.h"
#include "runtime/calls/batched_matmul.h"
#include "runtime/calls/conv.h"
#include "runtime/calls/epilogue.h"
#include "runtime/calls/matmul.h"
#include "runtime/calls/prologue.h"
#include "runtime/gpu/byte_product.h"
#include "runtime/gpu/coded_weights.h"
#include "runtime/gpu/library_candidate.h"
#include "runtime/gpu/library_convolution.h"
#include "runtime/gpu/library_product.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/unit_proof.h"
#include "runtime/gpu/zero_division.h"

namespace tenon::gpu {
namespace {

constexpr std::size_t max_buffers = 64;

bool is_computable(const Value* left, DType right) { return product_type(left->dtype(), right).has_value(); }

// The two sides of a product, and how they lie. Of a computed left side: what it is computed from.
struct Sides {
  std::vector<PlannedTensor> left;
  PlannedTensor right;
  Product product;
  // Zero points of the left one and of the right one, where it has them.
  std::vector<PlannedTensor> zeros = {};
};

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

// The device, with the units on which the product may be computed. It is none of TF32 where that unit fails.
GpuLimits limits_for(Gpu& gpu, Product& p) {
  GpuLimits limits = limits_of(gpu);
  limits.units = proven(gpu, units_for(p, limits));
  if (!p.tf32 || limits.units.has(MatrixUnit::tf32)) return limits;
  p.tf32 = false;
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
  sides.product.reads_32_bits = l.reads_32_bits;
  if (l.library && emit_by_library(planner, group, l, sides, result, stride)) return;
  LoopProgram& epilogue = l.tile.program;
  epilogue.shape.operands.back().strides = {stride, 1};
  epilogue.code.operands.back().strides = {class_of(stride), Stride::one};

  const LoopForm form{.wide = true};
  const GpuLimits limits = limits_for(gpu, sides.product);
  ProductKernel kernel = product_kernel(sides.product, epilogue, form, limits);
  std::vector<PlannedTensor> reads = sides.left, writes{result};
  reads.push_back(sides.right);
  reads.insert(reads.end(), sides.zeros.begin(), sides.zeros.end());
  if (kernel.parts > 0) {
    writes.push_back(planner.bytes(static_cast<std::size_t>(kernel.parts) * size_of(kernel.part_type)));
    writes.push_back(planner.zeros(kernel.tickets));
    reads.insert(reads.end(), writes.begin() + 1, writes.end());
  }
  std::vector<std::vector<std::byte>> arguments{std::move(kernel.arguments), loop_arguments(epilogue, form)};
  for (const LoopProgram& prologue : sides.product.prologue)
    arguments.push_back(loop_arguments(prologue, form));
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
                              .maps = std::move(kernel.maps)});
  step->info = {.kernel = fmt::format("{} {}{}", l.kernel, kernel.tiling, l.suffix), .flops = l.flops};
  planner.emit(std::move(step), group.node(), std::move(reads), std::move(writes));
}

// A candidate behind the kernel of ours, which is taken where the estimates are equal. They are, unless no
// matrix unit is proven that ours would take.
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
  candidates.push_back({{.kernel = library_kernel(planner, *epilogue),
                         .work = work,
                         .seconds = planner.estimate(work.flops, work.bytes),
                         .order = lowered.order,
                         .scratch_bytes = library_workspace},
                        [=](Planner& p, const Group& g) { emit(p, g, by_library); }});
}

// The left side of a product: where it lies, or what it is computed from and how.
struct LeftSide {
  std::vector<PlannedTensor> buffers;
  Strided layout;  // dense if it is computed
  std::vector<LoopProgram> prologue;
};

LeftSide as_it_lies(Planner& planner, const Value* value) {
  const PlannedTensor at = planner.assignment().at(value);
  return {{at}, at, {}};
}

// The members of a group that compute the product's left side, and the others.
struct Parts {
  explicit Parts(const Group& whole_, std::optional<Prologue> of = {})
      : whole(whole_), prologue(std::move(of)), rest(prologue ? prologue->rest() : whole) {}
  static Parts of(const Group& whole) { return Parts(whole, Prologue::match(whole)); }

  // order: in which it is a matrix.
  LeftSide left(Planner& planner, const Value* value, const Order& order) const {
    if (!prologue) return as_it_lies(planner, value);
    LeftSide side{{}, dense_layout(value->type()), {}};
    side.prologue = {prologue->program(planner, order, side.buffers)};
    return side;
  }

  Group whole;
  std::optional<Prologue> prologue;
  Group rest;
};

// left: the dtype of a side that the vendor's library may multiply.
std::vector<Candidate> candidate(const Planner& planner, const Parts& of, const Node& anchor,
                                 const Value* bias, const Order& order, Work work, const std::string& name,
                                 std::function<Sides(Planner&)> place, std::optional<DType> left = {}) {
  const auto tile = TileProgram::match(planner, of.rest, anchor, bias, order);
  if (!tile || may_divide_by_zero(of.whole)) return {};
  constexpr std::size_t others =
      7;  // two sides, their zero points, parts and tickets of shared tiles, the result
  std::size_t buffers = tile->operands.size() + others;
  work.bytes += tile->bytes();
  std::string suffix = of.rest.results()[0] != anchor.output() || bias ? "+tile" : "";
  if (of.prologue) {
    const Work before = of.prologue->work();
    work.bytes += before.bytes;
    work.flops += before.flops;
    buffers += of.prologue->operands();
    suffix = "+prologue" + suffix;
    left = {};
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
  if (left) add_library(planner, of.whole, anchor, bias, *left, work, candidates, lowered);
  return candidates;
}

Product product_of(const BatchedLayout& layout, const LeftSide& left, const PlannedTensor& right) {
  Product product{.left_type = left.layout.dtype(),
                  .right_type = right.dtype(),
                  .rows = layout.M,
                  .columns = layout.N,
                  .depth = layout.K,
                  .left_row = layout.a_row,
                  .left_column = layout.a_column,
                  .right_row = layout.b_row,
                  .right_column = layout.b_column,
                  .left_offset = left.layout.offset(),
                  .right_offset = right.offset(),
                  .prologue = left.prologue};
  if (!left.prologue.empty()) product.left_row = product.left_column = 1;  // they count rows and columns
  for (const BatchAxis& axis : layout.batch) product.batch.push_back({axis.size, axis.a, axis.b});
  return product;
}

// A constant matrix [K, N], such that its columns lie along their depth.
PlannedTensor columns_of(Planner& planner, const Tensor& weight) {
  if (weight.strides()[0] == 1) return planner.constant(weight);
  const Index shape{weight.shape()[1], weight.shape()[0]};
  const auto bytes = static_cast<std::size_t>(weight.numel()) * size_of(weight.dtype());
  const Tensor packed =
      planner.weights().packed(weight, "columns along the depth", bytes, [&](const Tensor& w, std::byte* to) {
        const Tensor rows = w.permute(Index{1, 0}).contiguous();
        std::copy_n(rows.bytes(), bytes, to);
      });
  return planner
      .constant(Tensor::view_of(packed.storage(), weight.dtype(), shape, contiguous_strides(shape), 0))
      .permute(Index{1, 0});
}

// A weight in codes, whatever the rank of the left side.
Sides place_coded(Planner& planner, const Parts& parts, const CodedCall& coded) {
  const QuantizedMatrix& matrix = coded.call.matrix;
  LeftSide left = parts.left(planner, coded.call.x, row_major(coded.call.x->rank()));
  const auto of_rows = [](const Strided& t) { return t.rank() > 1 ? t : t.expand(Index{1, t.shape()[0]}); };
  const Strided right(DType::u8, {matrix.K(), matrix.N()}, {1, matrix.K()}, 0);
  const BatchedLayout layout = BatchedLayout::of(of_rows(left.layout), right, false,
                                                 of_rows(dense_layout(coded.call.anchor->output()->type())));
  const PlannedTensor weights = coded.weights(planner);
  Product product = product_of(layout, left, weights);
  product.right_type = product.left_type;
  product.codes = {coded.codes};
  return {std::move(left.buffers), weights, std::move(product)};
}

std::vector<Candidate> lower_coded(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  const auto coded = CodedCall::match(planner, parts.rest);
  if (!coded) return {};
  const Node& anchor = *coded->call.anchor;
  return candidate(planner, parts, anchor, coded->call.bias, row_major(anchor.output()->rank()),
                   coded->call.work(static_cast<double>(coded->bytes())), "product",
                   [parts, coded](Planner& p) { return place_coded(p, parts, *coded); });
}

PlannedTensor zero_point(Planner& planner, const Value* zero) {
  const auto constant = planner.assignment().constant(zero);
  return constant ? planner.constant(*constant) : planner.assignment().at(zero);
}

Sides place_bytes(Planner& planner, const ByteCall& call) {
  const LeftSide left = as_it_lies(planner, call.left.bytes);
  const PlannedTensor right =
      call.weights ? call.weights->place(planner) : planner.assignment().at(call.right.bytes);
  const BatchedLayout layout =
      BatchedLayout::of(left.layout, right, call.anchor->is<Linear>() && !call.weights,
                        dense_layout(call.anchor->output()->type()));
  Sides sides{left.buffers, right, product_of(layout, left, right)};
  if (call.left.zero) {
    sides.zeros.push_back(zero_point(planner, call.left.zero));
    sides.product.left_zeros = 0;
  }
  if (call.weights && call.weights->has_zeros()) {
    sides.zeros.push_back(call.weights->place_zeros(planner));
    sides.product.right_zeros = 1;
  } else if (call.right.zero) {
    sides.zeros.push_back(zero_point(planner, call.right.zero));
    sides.product.right_zeros = 0;
  }
  return sides;
}

std::vector<Candidate> lower_bytes(const Planner& planner, const Group& group) {
  const auto call = ByteCall::match(planner, group);
  if (!call) return {};
  return candidate(planner, Parts(group), *call->anchor, call->bias,
                   row_major(call->anchor->output()->rank()), call->work(), "product",
                   [call](Planner& p) { return place_bytes(p, *call); });
}

// What has kernels that read codes has no others: no copy in floats is made.
std::vector<Candidate> lower_matmul(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  if (CodedCall::match(planner, parts.rest) || ByteCall::match(planner, group)) return {};
  const auto call = BatchedMatmulCall::match(parts.rest);
  if (!call || !is_computable(call->left, call->right->dtype())) return {};
  std::optional<Tensor> weight;
  if (const auto constant = MatmulCall::match(planner, parts.rest)) weight = constant->weight;
  const auto place = [parts, call, weight](Planner& p) {
    LeftSide left = parts.left(p, call->left, row_major(call->left->rank()));
    const PlannedTensor right = weight ? columns_of(p, *weight) : p.assignment().at(call->right);
    const BatchedLayout layout = BatchedLayout::of(left.layout, right, call->right_is_transposed && !weight,
                                                   dense_layout(call->anchor->output()->type()));
    Product product = product_of(layout, left, right);
    return Sides{std::move(left.buffers), right, std::move(product)};
  };
  return candidate(planner, parts, *call->anchor, call->bias, row_major(call->anchor->output()->rank()),
                   call->work(), "product", place, call->left->dtype());
}

// One row times a matrix.
std::vector<Candidate> lower_row(const Planner& planner, const Group& group) {
  if (CodedCall::match(planner, group)) return {};
  const auto call = MatmulCall::match(planner, group);
  if (!call || call->anchor->output()->rank() != 1) return {};
  if (!is_computable(call->x, call->weight.dtype())) return {};
  const auto place = [call](Planner& p) {
    const PlannedTensor left = p.assignment().at(call->x), right = columns_of(p, call->weight);
    return Sides{{left},
                 right,
                 {.left_type = left.dtype(),
                  .right_type = right.dtype(),
                  .rows = 1,
                  .columns = call->N,
                  .depth = call->K,
                  .left_column = left.strides()[0],
                  .right_row = right.strides()[0],
                  .right_column = right.strides()[1],
                  .left_offset = left.offset(),
                  .right_offset = right.offset()}};
  };
  return candidate(planner, Parts(group), *call->anchor, call->bias, row_major(1), call->work(), "product",
                   place);
}

// Rows of the packed weights begin at multiples of 16 bytes, whatever the type.
std::int64_t packed_row(std::int64_t depth, DType dtype) {
  const std::int64_t elements = size_of(dtype) == 1 ? 16 : 8;
  return (depth + elements - 1) / elements * elements;
}

// Of group g, [columns, taps * channels]: the channel moves fastest, and rows are filled up with zeros.
void write_rows(const ConvShape& s, const Tensor& weights, std::byte* target) {
  const Tensor dense = weights.contiguous();
  const std::size_t bytes = size_of(dense.dtype());
  const std::int64_t taps = s.taps(), channels = s.Cin / s.groups, columns = s.Cout / s.groups;
  const std::int64_t row = packed_row(taps * channels, dense.dtype());
  std::fill_n(target, static_cast<std::size_t>(s.Cout * row) * bytes, std::byte{0});
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::byte* to = target + static_cast<std::size_t>((g * columns + j) * row) * bytes;
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t c = 0; c < channels; ++c, to += bytes) {
          const std::int64_t place = s.transposed ? ((g * channels + c) * columns + j) * taps + tap
                                                  : ((g * columns + j) * channels + c) * taps + tap;
          std::copy_n(dense.bytes() + static_cast<std::size_t>(place) * bytes, bytes, to);
        }
    }
}

PlannedTensor rows_of_weights(Planner& planner, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const std::string form =
      fmt::format("rows {} {} {} {} {}", s.transposed, s.Cin, s.Cout, s.groups, s.taps());
  const Index shape{s.Cout, packed_row(s.Cin / s.groups * s.taps(), call.weights.dtype())};
  const Tensor packed = planner.weights().packed(
      call.weights, form, static_cast<std::size_t>(numel(shape)) * size_of(call.weights.dtype()),
      [&](const Tensor& w, std::byte* to) { write_rows(s, w, to); });
  return planner.constant(
      Tensor::view_of(packed.storage(), call.weights.dtype(), shape, contiguous_strides(shape), 0));
}

// The axes of weights such that the rows of rows_of_weights lie one behind the other: the channels of the
// input last.
Order rows_order(const ConvShape& shape, std::size_t rank) {
  Order order = channels_last(rank);
  if (shape.transposed) std::swap(order.front(), order.back());
  return order;
}

// Weights that the graph computes are copied to such rows, unfilled. In groups of a transposed convolution no
// order of the axes makes rows.
PlannedTensor rows_of_computed(Planner& planner, const ConvCall& call) {
  const PlannedTensor weights =
      planner.dense(call.weights_value, rows_order(call.shape, call.weights_value->rank()));
  const Index shape{call.shape.Cout, call.shape.Cin / call.shape.groups * call.shape.taps()};
  return {weights.buffer(), weights.permute(rows_order(call.shape, weights.rank())).view_as(shape)};
}

bool has_rows(const ConvCall& call) {
  return call.weights.defined() || !call.shape.transposed || call.shape.groups == 1;
}

// Strides of pixels as rows of the input's matrix, and of channels as its columns.
void number_pixels(Product::Windows& w) {
  w.channel = w.spatial[2] = 1;
  w.spatial[1] = w.shape.w.in;
  w.spatial[0] = w.shape.h.in * w.spatial[1];
  w.image = w.shape.d.in * w.spatial[0];
}

Sides place_conv(Planner& planner, const Parts& parts, const ConvCall& call) {
  const ConvShape& s = call.shape;
  LeftSide left = parts.left(planner, call.x, channels_last(call.x->rank()));
  const Strided& x = left.layout;
  const std::int64_t depth = s.Cin / s.groups * s.taps(), columns = s.Cout / s.groups;
  Product::Windows windows{.shape = s, .image = x.strides()[0], .channel = x.strides()[1]};
  const std::size_t axes = x.rank() - 2;
  for (std::size_t i = 0; i < axes; ++i) windows.spatial[3 - axes + i] = x.strides()[2 + i];
  if (!left.prologue.empty()) number_pixels(windows);
  const PlannedTensor right =
      call.weights.defined() ? rows_of_weights(planner, call) : rows_of_computed(planner, call);
  const std::int64_t row = right.strides()[0];
  Product product{.left_type = x.dtype(),
                  .right_type = right.dtype(),
                  .rows = s.N * s.out_pixels(),
                  .columns = columns,
                  .depth = depth,
                  .right_row = 1,
                  .right_column = row,
                  .left_offset = x.offset(),
                  .right_offset = right.offset(),
                  .windows = {windows},
                  .prologue = left.prologue};
  if (left.prologue.empty()) product.batch = {{s.groups, s.Cin / s.groups * x.strides()[1], columns * row}};
  return {std::move(left.buffers), right, std::move(product)};
}

std::vector<Candidate> lower_conv(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  const auto call = ConvCall::match_any_weights(planner, parts.rest);
  if (!call || !is_computable(call->x, call->weights_value->dtype()) || !has_rows(*call)) return {};
  if (numel(call->weights_value->shape()) == 0) return {};
  if (numel(call->anchor->output()->shape()) == 0) return {};
  if (parts.prologue && call->shape.groups != 1) return {};
  auto candidates =
      candidate(planner, parts, *call->anchor, call->bias, channels_last(call->x->rank()), call->work(),
                "windows product", [parts, call](Planner& p) { return place_conv(p, parts, *call); });
  if (!parts.prologue) add_library_convolution(planner, group, *call, candidates);
  return candidates;
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> product_lowerings() {
  return {{&op_info<Linear>(), gpu::lower_matmul},   {&op_info<MatMul>(), gpu::lower_matmul},
          {&op_info<Linear>(), gpu::lower_coded},    {&op_info<MatMul>(), gpu::lower_coded},
          {&op_info<Linear>(), gpu::lower_bytes},    {&op_info<MatMul>(), gpu::lower_bytes},
          {&op_info<Linear>(), gpu::lower_row},      {&op_info<MatMul>(), gpu::lower_row},
          {&op_info<Conv>(), gpu::lower_conv, true}, {&op_info<ConvTranspose>(), gpu::lower_conv, true}};
}

}  // namespace tenon
