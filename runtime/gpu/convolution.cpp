// Convolutions on a GPU, as products whose left side are windows, with all that their group does before and
// behind them.
#include <algorithm>

#include "ir/ops/conv.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/product_tiling.h"
#include "runtime/calls/conv.h"
#include "runtime/gpu/computed_weights.h"
#include "runtime/gpu/library_convolution.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/product_candidates.h"
#include "runtime/gpu/thin_convolution.h"

namespace tenon::gpu {
namespace {

// Rows of the packed weights begin at multiples of 16 bytes, whatever the type.
std::int64_t packed_row(std::int64_t depth, DType dtype) {
  const std::int64_t elements = size_of(dtype) == 1 ? 16 : 8;
  return (depth + elements - 1) / elements * elements;
}

// How the rows of a convolution's weights are ordered, and the depths in them.
struct Depths {
  bool rows_of_taps = false;  // a row for each tap and channel of the result, which has the channels alone
  bool channels_fast = true;  // the channel moves faster than the taps
  std::int64_t channels = 0;  // of a group; those that the weights do not have are zeros
};

std::int64_t rows_of(const ConvShape& s, const Depths& depths) {
  return depths.rows_of_taps ? s.taps() * s.Cout : s.Cout;
}

// Of group g, [columns, depths]: rows are filled up with zeros.
void write_rows(const ConvShape& s, const Depths& depths, const Tensor& weights, std::byte* target) {
  const Tensor dense = weights.contiguous();
  const std::size_t bytes = size_of(dense.dtype());
  const std::int64_t taps = s.taps(), channels = s.Cin / s.groups, columns = s.Cout / s.groups;
  const std::int64_t row = packed_row((depths.rows_of_taps ? 1 : taps) * depths.channels, dense.dtype());
  std::fill_n(target, static_cast<std::size_t>(rows_of(s, depths) * row) * bytes, std::byte{0});
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t place = s.transposed ? ((g * channels + c) * columns + j) * taps + tap
                                                  : ((g * columns + j) * channels + c) * taps + tap;
          const std::int64_t i = (depths.rows_of_taps ? tap * s.Cout : 0) + g * columns + j;
          const std::int64_t k = depths.rows_of_taps    ? c
                                 : depths.channels_fast ? tap * depths.channels + c
                                                        : c * taps + tap;
          std::copy_n(dense.bytes() + static_cast<std::size_t>(place) * bytes, bytes,
                      target + static_cast<std::size_t>(i * row + k) * bytes);
        }
    }
}

PlannedTensor rows_of_weights(Planner& planner, const ConvCall& call, const Depths& depths) {
  const ConvShape& s = call.shape;
  const std::string form = fmt::format("rows {} {} {} {} {} {} {} {}", s.transposed, s.Cin, s.Cout, s.groups,
                                       s.taps(), depths.rows_of_taps, depths.channels_fast, depths.channels);
  const std::int64_t taps = depths.rows_of_taps ? 1 : s.taps();
  const Index shape{rows_of(s, depths), packed_row(depths.channels * taps, call.weights.dtype())};
  const Tensor packed = planner.weights().packed(
      call.weights, form, static_cast<std::size_t>(numel(shape)) * size_of(call.weights.dtype()),
      [&](const Tensor& w, std::byte* to) { write_rows(s, depths, w, to); });
  return planner.constant(
      Tensor::view_of(packed.storage(), call.weights.dtype(), shape, contiguous_strides(shape), 0));
}

// The same of weights that the graph computes, but rows are not filled up.
PlannedTensor rows_of_computed(Planner& planner, const ConvCall& call, const Depths& how) {
  using enum WeightAxis;
  using Order = std::array<WeightAxis, 4>;
  const Order order = how.rows_of_taps    ? Order{taps, groups, columns, depths}
                      : how.channels_fast ? Order{groups, columns, taps, depths}
                                          : Order{groups, columns, depths, taps};
  const PlannedTensor weights = computed_weights(planner, call, order);
  const std::int64_t rows = rows_of(call.shape, how);
  return weights.view_as({rows, weights.numel() / rows});
}

// Strides of pixels as rows of the input's matrix, and of channels as its columns.
void number_pixels(Product::Windows& w) {
  w.channel = w.spatial[2] = 1;
  w.spatial[1] = w.shape.w.in;
  w.spatial[0] = w.shape.h.in * w.spatial[1];
  w.image = w.shape.d.in * w.spatial[0];
}

// Its windows are the pixels themselves.
bool is_of_pixels(const ConvShape& s) {
  const auto is_plain = [](const ConvAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_before == 0 && a.pad_after == 0 && a.output_padding == 0;
  };
  return s.groups == 1 && is_plain(s.d) && is_plain(s.h) && is_plain(s.w);
}

// A pixel of the result is in one window, of which it is one tap.
bool is_of_taps(const ConvShape& s) {
  const auto is_plain = [](const ConvAxis& a) {
    return a.kernel == a.stride && (a.dilation == 1 || a.kernel == 1) && a.pad_before == 0 &&
           a.pad_after == 0 && a.output_padding == 0;
  };
  const bool in_pieces = s.Cout % tile_form.vector == 0;
  return s.transposed && s.groups == 1 && in_pieces && is_plain(s.d) && is_plain(s.h) && is_plain(s.w);
}

// The pixels are rows of one matrix, or of one for each image. False: they are not evenly spaced.
bool read_pixels(const LeftSide& left, Product& p) {
  if (!left.prologue.empty()) {  // it counts rows and columns
    p.left_row = p.left_column = 1;
    return true;
  }
  const Strided x = left.layout.permute(channels_last(left.layout.rank()));
  const std::int64_t images = x.shape()[0];
  Index strides;
  if (x.can_view_as({p.rows, p.depth}, &strides)) {
    p.left_row = strides[0];
    p.left_column = strides[1];
    return true;
  }
  if (!x.can_view_as({images, p.rows / images, p.depth}, &strides)) return false;
  p.batch = {{images, strides[0], 0}};
  p.rows /= images;
  p.left_row = strides[1];
  p.left_column = strides[2];
  return true;
}

Product::Windows windows_of(const ConvShape& s, const LeftSide& left) {
  const Strided& x = left.layout;
  Product::Windows windows{.shape = s, .image = x.strides()[0], .channel = x.strides()[1]};
  const std::size_t axes = x.rank() - 2;
  for (std::size_t i = 0; i < axes; ++i) windows.spatial[3 - axes + i] = x.strides()[2 + i];
  if (!left.prologue.empty()) number_pixels(windows);
  return windows;
}

// The product with its left side alone, whose channels may be more than those of the weights.
Product product_of(const ConvCall& call, const LeftSide& left) {
  ConvShape s = call.shape;
  s.Cin = left.layout.shape()[1];
  Product p{.left_type = left.layout.dtype(),
            .right_type = call.weights.defined() ? call.weights.dtype() : call.weights_value->dtype(),
            .rows = s.N * s.out_pixels(),
            .columns = s.Cout / s.groups,
            .depth = s.Cin / s.groups * s.taps(),
            .left_offset = left.layout.offset(),
            .prologue = left.prologue};
  if (is_of_pixels(s) && read_pixels(left, p)) return p;
  if (is_of_taps(s)) {
    Product of_taps = p;
    of_taps.rows = s.N * s.in_pixels();
    of_taps.columns = s.taps() * s.Cout;
    of_taps.depth = s.Cin;
    of_taps.taps = {{s.Cout, {s.d.in, s.h.in, s.w.in}, {s.d.kernel, s.h.kernel, s.w.kernel}}};
    if (read_pixels(left, of_taps)) return of_taps;
  }
  p.windows = {windows_of(s, left)};
  if (left.prologue.empty()) p.batch = {{s.groups, s.Cin / s.groups * p.windows[0].channel, 0}};
  return p;
}

// Windows that do not overlap along w, in an image whose rows lie side by side: a row of a window is as many
// channels of windows whose depth are the image's channels.
bool read_patches(Product& p) {
  if (p.windows.empty()) return false;
  Product::Windows& of = p.windows[0];
  const ConvShape s = of.shape;
  const bool fits = !s.transposed && s.groups == 1 && s.d.trivial() && s.w.kernel == s.w.stride &&
                    s.w.dilation == 1 && s.w.pad_before == 0 && s.w.pad_after == 0;
  if (!fits || of.spatial[2] != 1) return false;
  of.shape.Cin = s.w.kernel;
  of.shape.d = {.in = s.Cin, .kernel = s.Cin};
  of.shape.w = {.in = s.w.in / s.w.kernel};
  of.spatial[0] = of.channel;
  of.spatial[2] = s.w.kernel;
  of.channel = 1;
  p.batch = {};
  return true;
}

bool reads_chunks(const Product& p) { return reading_of_left(p).count > 1; }

// Seconds of reading the left side element by element, by what an H100 took.
double seconds_of_elements(const Product& p) {
  constexpr double elements_of_second = 1.3e11;
  constexpr std::int64_t columns_of_tile = 128;
  const std::int64_t times = batches(p) * ((p.columns + columns_of_tile - 1) / columns_of_tile);
  return static_cast<double>(p.rows) * static_cast<double>(p.depth) * static_cast<double>(times) /
         elements_of_second;
}

// The image with its channels side by side, and zeros behind them.
PlannedTensor filled_channels(Planner& planner, const Value* image, std::int64_t channels) {
  return planner.derived({image}, fmt::format("{} channels last", channels), [&] {
    const PlannedTensor x = planner.assignment().at(image);
    const PlannedTensor from = x.permute(channels_last(x.rank()));
    Index sizes = from.shape(), strides = from.strides();
    sizes.back() = channels;
    strides.back() = 0;
    LoopProgram program("channels last", sizes);
    const Reg channel = program.iota(static_cast<int>(x.rank()) - 1);
    const Reg zero = program.constant(0, compute_type(x.dtype()));
    const Reg element = program.gather({.buffer = 0,
                                        .dtype = x.dtype(),
                                        .strides = strides,
                                        .index_stride = x.strides()[1],
                                        .range = x.shape()[1]},
                                       channel, zero);
    program.store({.buffer = 1, .dtype = x.dtype(), .strides = contiguous_strides(sizes)}, element);
    Order back = row_major(x.rank());  // from channels last
    std::rotate(back.begin() + 1, back.end() - 1, back.end());
    const PlannedTensor memory = planner.bytes(static_cast<std::size_t>(numel(sizes)) * size_of(x.dtype()));
    const Strided filled(x.dtype(), sizes, contiguous_strides(sizes), 0);
    const PlannedTensor to(memory.buffer(), filled.permute(back));
    auto step = make_loop_step(gpu_of(planner), {std::move(program), {x, to}});
    step->info.kernel = "channels last";
    planner.prepare(std::move(step), {x}, {to});
    return to;
  });
}

// A copy of the image whose channels are read in chunks, which may be more than it has; nullopt where it
// takes longer than to read single elements.
std::optional<LeftSide> in_chunks(Planner& planner, const ConvCall& call, const Product& as_it_lies) {
  const ConvShape& s = call.shape;
  const DType dtype = call.x->dtype();
  if (type_of(as_it_lies) != dtype || size_of(dtype) > 4) return std::nullopt;
  const auto chunk = static_cast<std::int64_t>(16 / size_of(dtype));
  const std::int64_t channels = (s.Cin + chunk - 1) / chunk * chunk;
  const bool is_whole = s.Cin / s.groups % chunk == 0,
             may_be_filled = s.groups == 1 && call.weights.defined();
  constexpr std::int64_t most = 4;  // times as many products
  if (!is_whole && (!may_be_filled || channels > most * s.Cin)) return std::nullopt;
  const double larger = static_cast<double>(channels) / static_cast<double>(s.Cin);
  const double seconds = planner.estimate(0, (1 + larger) * bytes_of(call.x->type()));
  if (seconds_of_elements(as_it_lies) <= seconds) return std::nullopt;
  const PlannedTensor x = is_whole ? planner.dense(call.x, channels_last(call.x->rank()))
                                   : filled_channels(planner, call.x, channels);
  return LeftSide{{x}, x, {}};
}

Sides place_conv(Planner& planner, const Parts& parts, const ConvCall& call) {
  const std::int64_t groups = call.shape.groups;
  LeftSide left = parts.left(planner, call.x, channels_last(call.x->rank()));
  Product p = product_of(call, left);
  Depths depths{.channels = call.shape.Cin / groups};
  if (left.prologue.empty() && !reads_chunks(p)) {
    Product of_patches = p;
    if (read_patches(of_patches) && reads_chunks(of_patches)) {
      p = std::move(of_patches);
      depths.channels_fast = false;
    } else if (auto copy = in_chunks(planner, call, p)) {
      left = std::move(*copy);
      p = product_of(call, left);
      depths.channels = left.layout.shape()[1] / groups;
    }
  }
  depths.rows_of_taps = !p.taps.empty();
  const PlannedTensor right = call.weights.defined() ? rows_of_weights(planner, call, depths)
                                                     : rows_of_computed(planner, call, depths);
  p.right_row = 1;
  p.right_column = right.strides()[0];
  p.right_offset = right.offset();
  if (groups > 1) p.batch[0].right = p.columns * p.right_column;
  return {std::move(left.buffers), right, std::move(p)};
}

// Tiles have so many columns at least, which groups may not have.
double seconds_of_groups(const Planner& planner, const ConvCall& call, const Work& work) {
  constexpr std::int64_t least = 64;
  const std::int64_t columns = call.shape.Cout / call.shape.groups;
  const double larger = static_cast<double>(std::max(columns, least)) / static_cast<double>(columns);
  return planner.estimate(larger * work.flops, work.bytes);
}

std::vector<Candidate> lower_conv(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  const auto call = ConvCall::match_any_weights(planner, parts.rest);
  if (!call || !multiplies(call->x->dtype(), call->weights_value->dtype())) return {};
  if (numel(call->weights_value->shape()) == 0) return {};
  if (numel(call->anchor->output()->shape()) == 0) return {};
  if (parts.prologue && call->shape.groups != 1) return {};
  const bool is_plain = is_of_pixels(call->shape) || is_of_taps(call->shape);
  std::vector<Candidate> candidates =
      product_candidates(planner, parts, *call->anchor, call->bias, channels_last(call->x->rank()),
                         call->work(), is_plain ? "product" : "windows product",
                         [parts, call](Planner& p) { return place_conv(p, parts, *call); });
  if (!parts.prologue) add_library_convolution(planner, group, *call, candidates);
  if (auto thin = thin_convolution(planner, group, *call)) {
    for (Candidate& c : candidates) c.info.seconds = seconds_of_groups(planner, *call, c.info.work);
    candidates.insert(candidates.begin(), std::move(*thin));
  }
  return candidates;
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_convolution_lowerings() {
  return {{&op_info<Conv>(), gpu::lower_conv, true}, {&op_info<ConvTranspose>(), gpu::lower_conv, true}};
}

}  // namespace tenon
