// Reading images at computed places.
#include <array>
#include <vector>

#include "base/count.h"
#include "base/error.h"
#include "converter/aten/vision.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/grid_sample.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter::onnx {

namespace {

Operands grid_sample_of(Call& call) {
  const std::string mode = call.text("mode", "linear"), padding = call.text("padding_mode", "zeros");
  const auto choice = [](const std::string& word,
                         std::initializer_list<std::string_view> words) -> std::int64_t {
    std::int64_t i = 0;
    for (const std::string_view w : words) {
      if (w == word) return i;
      ++i;
    }
    throw unsupported("its mode is '{}'", word);
  };
  const std::string name = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  const Ref x = call.tensor(0);
  const GridSample op{.mode = static_cast<SampleMode>(choice(name, {"linear", "nearest", "cubic"})),
                      .outside = static_cast<Outside>(choice(padding, {"zeros", "border", "reflection"})),
                      .align_corners = call.integer("align_corners", 0) != 0};
  return {cast(x.dtype(), apply(op, {working(x), working(call.tensor(1))}))};
}

Operands affine_grid_of(Call& call) {
  const Axes size = call.integers(1);
  return {affine_grid(call.build, call.tensor(0), std::vector<Dim>(size.begin(), size.end()),
                      call.integer("align_corners", 0) != 0)};
}

Operands deform_conv(Call& call) {
  const Axes stride = call.integers("strides", {1, 1}), dilation = call.integers("dilations", {1, 1});
  const Axes pads = call.integers("pads", {0, 0, 0, 0});
  if (stride.size() != 2 || dilation.size() != 2 || pads.size() != 4)
    throw error("strides, dilations or pads of another number than its axes");
  return {converter::deform_conv(call.build, call.tensor(0), call.tensor(1), call.tensor(2),
                                 call.has(3) ? call.tensor(3) : Ref(), call.has(4) ? call.tensor(4) : Ref(),
                                 {.stride = {stride[0], stride[1]},
                                  .pads = {pads[0], pads[1]},
                                  .dilation = {dilation[0], dilation[1]},
                                  .groups = call.integer("group", 1),
                                  .parts = call.integer("offset_group", 1)})};
}

Operands roi_align(Call& call) {
  const std::int64_t ratio = call.integer("sampling_ratio", 0);
  if (ratio < 1) throw unsupported("a number of samples that depends on the regions (sampling_ratio=0)");
  const std::string mode = call.text("mode", "avg");
  if (mode != "avg" && mode != "max") throw error("its mode is '{}'", mode);
  const std::string how =
      call.text("coordinate_transformation_mode", call.version < 16 ? "output_half_pixel" : "half_pixel");
  return {converter::roi_align(call.build, call.tensor(0), call.tensor(1), cast(DType::i64, call.tensor(2)),
                               {.bins = {call.integer("output_height", 1), call.integer("output_width", 1)},
                                .samples = ratio,
                                .scale = call.number("spatial_scale", 1),
                                .aligned = how == "half_pixel",
                                .largest = mode == "max"})};
}

/// Regions (image, x1, y1, x2, y2), each cut in bins.
Operands max_roi_pool(Call& call) {
  const Ref regions = call.tensor(1);
  check_rank("rois", regions.type(), 2);
  const Axes bins = call.integers("pooled_shape", {});
  if (bins.size() != 2) throw error("its pooled_shape has {}", counted(bins.size(), "size"));
  const Ref images = cast(DType::i64, reshape(slice(regions, 1, 0, 1), {regions.shape()[0]}));
  return {roi_pool(call.build, call.tensor(0), working(slice(regions, 1, 1, 5)), images, {bins[0], bins[1]},
                   call.number("spatial_scale", 1), BinEdges::exact)};
}

}  // namespace

std::span<const OnnxEntry> sampling_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"AffineGrid", affine_grid_of}, OnnxEntry{"DeformConv", deform_conv},
      OnnxEntry{"GridSample", grid_sample_of}, OnnxEntry{"MaxRoiPool", max_roi_pool},
      OnnxEntry{"RoiAlign", roi_align},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
