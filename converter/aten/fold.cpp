#include "converter/aten/fold.h"

#include "base/error.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

/// Places of a sliding window's elements along one axis of a padded image: [kernel, count].
Ref window_places(const InsertionPoint& point, std::int64_t kernel, std::int64_t dilation, const Dim& count,
                  std::int64_t stride) {
  const Ref taps = reshape(iota(Dim(kernel), point), {Dim(kernel), Dim(1)});
  return taps * static_cast<double>(dilation) + iota(count, point) * static_cast<double>(stride);
}

void check_axes(const Folded& f) {
  const std::size_t axes = f.size.size();
  for (const Axes* given : {&f.kernel, &f.dilation, &f.stride, &f.before, &f.after})
    if (given->size() != axes || axes == 0)
      throw error("{} numbers for an image of {} spatial axes", given->size(), axes);
  for (std::size_t i = 0; i < axes; ++i)
    if (f.kernel[i] < 1 || f.dilation[i] < 1 || f.stride[i] < 1 || f.before[i] < 0 || f.after[i] < 0)
      throw error("kernel {}, dilation {}, stride {} and padding {}, {} on the spatial axis {}", f.kernel[i],
                  f.dilation[i], f.stride[i], f.before[i], f.after[i], i);
}

}  // namespace

Ref columns_folded(Builder& build, const Ref& columns, const Folded& f) {
  check_axes(f);
  check_rank("the columns", columns.type(), 3);
  const std::size_t axes = f.size.size();
  Shape image = {columns.shape()[0], columns.shape()[1]}, padded(axes);
  Dim pixels = 1;
  Ref places;  // in the padded image, row by row: [kernel 0, ..., count 0, ...]
  for (std::size_t i = 0; i < axes; ++i) {
    image[1] = floor_div(image[1], Dim(f.kernel[i]));
    padded[i] = f.size[i] + f.before[i] + f.after[i];
    pixels = pixels * padded[i];
    const Dim count = floor_div(padded[i] - Dim(f.dilation[i] * (f.kernel[i] - 1) + 1), Dim(f.stride[i])) + 1;
    const Ref along = window_places(build.insertion_point(), f.kernel[i], f.dilation[i], count, f.stride[i]);
    Shape shape(axes * 2, Dim(1));
    shape[i] = Dim(f.kernel[i]);
    shape[axes + i] = count;
    const Ref here = reshape(along, shape);
    places = places ? places * dim_value(padded[i], places) + here : here;
  }
  const Dim count = numel(places.shape());
  const Ref flat = reshape(columns, {image[0], image[1], count});
  const Ref zero = full({image[0], image[1], pixels}, 0, columns.dtype(), build.insertion_point());
  Ref y = index_add(zero, 2, reshape(places, {count}), flat);
  image.insert(image.end(), padded.begin(), padded.end());
  y = reshape(y, image);
  for (std::size_t i = 0; i < axes; ++i)
    y = slice(y, static_cast<std::int64_t>(i) + 2, Dim(f.before[i]), Dim(f.before[i]) + f.size[i]);
  return y;
}

}  // namespace tenon::converter
