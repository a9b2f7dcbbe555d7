#include "converter/onnx/windows.h"

#include <algorithm>

#include "base/error.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// What has to be padded in all for ceil(size / stride) windows.
std::int64_t padding_for_same(const Dim& size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t dilation) {
  const std::int64_t reach = (kernel - 1) * dilation + 1;
  if (stride == 1) return reach - 1;
  if (!size.is_known())
    throw unsupported("auto_pad with a stride of {} along an axis of unknown size ({})", stride, size.str());
  const std::int64_t count = (size.value() + stride - 1) / stride;
  return std::max<std::int64_t>((count - 1) * stride + reach - size.value(), 0);
}

/// The axes with one of them moved to another place.
Ref moved(const Ref& x, std::size_t from, std::size_t to) {
  if (std::max(from, to) >= x.rank()) throw error("channels among the axes of {}", x.type().str());
  Axes axes;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != from) axes.push_back(static_cast<std::int64_t>(i));
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return permute(x, axes);
}

}  // namespace

std::size_t spatial_rank(const Ref& x) {
  if (x.rank() < 3) throw error("a tensor of rank {}, which has no spatial axes", x.rank());
  return x.rank() - 2;
}

Axes checked(Axes values, std::size_t count, std::string_view what) {
  if (values.size() != count) throw error("its {} have {} elements, not {}", what, values.size(), count);
  return values;
}

Windows windows(const Call& call, const Ref& x, Axes kernel) {
  const std::size_t n = spatial_rank(x);
  Windows w{checked(call.integers("kernel_shape", std::move(kernel)), n, "kernel_shape"),
            checked(call.integers("strides", Axes(n, 1)), n, "strides"),
            checked(call.integers("dilations", Axes(n, 1)), n, "dilations"),
            checked(call.integers("pads", Axes(n * 2, 0)), n * 2, "pads")};
  for (std::size_t i = 0; i < n; ++i)
    if (w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 || w.pad[i] < 0 || w.pad[i + n] < 0)
      throw error("its kernel_shape, strides and dilations are to be positive, its pads not negative");
  const std::string how = call.text("auto_pad", "NOTSET");
  if (how == "VALID") w.pad.assign(n * 2, 0);
  if (how == "SAME_UPPER" || how == "SAME_LOWER")
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t all = padding_for_same(x.shape()[i + 2], w.kernel[i], w.stride[i], w.dilation[i]);
      const std::int64_t less = all / 2, more = all - less;
      w.pad[i] = how == "SAME_UPPER" ? less : more;
      w.pad[i + n] = how == "SAME_UPPER" ? more : less;
    }
  return w;
}

Axes kernel_of(const Ref& weight) {
  Axes kernel;
  for (std::size_t i = 2; i < weight.rank(); ++i) {
    if (!weight.shape()[i].is_known()) throw unsupported("a kernel of unknown size");
    kernel.push_back(weight.shape()[i].value());
  }
  return kernel;
}

Axes shortened(Axes values) {
  if (values.size() % 2 == 0) {
    const Axes first(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    if (Axes(values.begin() + static_cast<std::ptrdiff_t>(first.size()), values.end()) == first) return first;
  }
  return values;
}

Axes for_all(Axes values) {
  values = shortened(std::move(values));
  if (std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == values[0]; }))
    values.resize(1);
  return values;
}

Ref channels_first(const Ref& x) { return moved(x, spatial_rank(x) + 1, 1); }

Ref channels_last(const Ref& x) { return moved(x, 1, spatial_rank(x) + 1); }

}  // namespace tenon::converter::onnx
