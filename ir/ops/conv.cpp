// Type rules of the convolutions.
#include "ir/ops/conv.h"

#include "ir/read_definition.h"

namespace tenon {
namespace {

// What holds for both directions; returns the number of spatial dims.
std::size_t check_operands(TypeSpan in, std::int64_t groups) {
  const Type &x = in[0], &weight = in[1];
  check_same_dtype("the input", x, "the weight", weight);
  if (x.rank() < 3 || x.rank() > 5)
    throw error("the input {} has {} axes; N, C and 1, 2 or 3 spatial ones are needed", x.str(), x.rank());
  check_rank("the weight", weight, x.rank());
  if (groups < 1) throw error("groups is {}, it must be at least 1", groups);
  return x.rank() - 2;
}

void check_bias(TypeSpan in, const Dim& channels) {
  if (in.size() < 3) return;
  check_same_dtype("the input", in[0], "the bias", in[2]);
  check_rank("the bias", in[2], 1);
  check_same_size("the bias", in[2].shape[0], "the number of output channels", channels);
}

// Each point (of the result; transposed: of the input) meets every tap of its group, padding or not.
double conv_flops(TypeSpan in, const Type& out, const Type& points) {
  const double taps = elements(in[1]) / static_cast<double>(in[1].shape[0].value());
  return 2 * elements(points) * taps + (in.size() > 2 ? elements(out) : 0);
}

}  // namespace

double Conv::flops(TypeSpan in, TypeSpan out) const { return conv_flops(in, out[0], out[0]); }
double ConvTranspose::flops(TypeSpan in, TypeSpan out) const { return conv_flops(in, out[0], in[0]); }

std::vector<Type> Conv::infer(TypeSpan in) const {
  const Type &x = in[0], &weight = in[1];
  const std::size_t dims = check_operands(in, groups);
  if (x.shape[1] != weight.shape[1] * groups)
    throw error("the input has {} channels, the weight expects {} (weight {}, groups {})", x.shape[1].str(),
                (weight.shape[1] * groups).str(), weight.str(), groups);
  if (mod(weight.shape[0], groups) != 0)
    throw error("{} output channels do not divide into {} groups", weight.shape[0].str(), groups);
  check_bias(in, weight.shape[0]);
  const Axes strides = spatial("stride", stride, dims), dilations = spatial("dilation", dilation, dims);
  const Pads pads = spatial_pads(pad, dims);
  Type out{x.dtype, {x.shape[0], weight.shape[0]}};
  for (std::size_t i = 0; i < dims; ++i)
    out.shape.push_back(window_count(x.shape[2 + i], {.kernel = weight.shape[2 + i],
                                                      .stride = strides[i],
                                                      .begin = pads.begin[i],
                                                      .end = pads.end[i],
                                                      .dilation = dilations[i]}));
  return {out};
}

std::vector<Type> ConvTranspose::infer(TypeSpan in) const {
  const Type &x = in[0], &weight = in[1];
  const std::size_t dims = check_operands(in, groups);
  if (x.shape[1] != weight.shape[0])
    throw error("the input has {} channels, the weight expects {} (weight {}, groups {})", x.shape[1].str(),
                weight.shape[0].str(), weight.str(), groups);
  if (mod(x.shape[1], groups) != 0)
    throw error("{} input channels do not divide into {} groups", x.shape[1].str(), groups);
  const Dim channels = weight.shape[1] * groups;
  check_bias(in, channels);
  const Axes strides = spatial("stride", stride, dims), dilations = spatial("dilation", dilation, dims);
  const Axes extra = spatial("output_pad", output_pad, dims);
  const Pads pads = spatial_pads(pad, dims);
  Type out{x.dtype, {x.shape[0], channels}};
  for (std::size_t i = 0; i < dims; ++i) {
    const Dim reach = Dim(dilations[i]) * (weight.shape[2 + i] - 1) + 1;
    const Dim size = (x.shape[2 + i] - 1) * strides[i] + reach - pads.begin[i] - pads.end[i] + extra[i];
    if (known_less(size, 1).value_or(false))
      throw error("spatial dim {} of the result would be {}", i, size.str());
    out.shape.push_back(size);
  }
  return {out};
}

std::vector<const OpInfo*> conv_ops() { return family(Convolutions{}); }

}  // namespace tenon
