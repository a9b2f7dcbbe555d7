// References of the operators that move elements: views of the operand, copied.
#include <algorithm>

#include "ir/ops/axis_maps.h"
#include "ir/ops/reference.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

Tensor mapped_axis(const Tensor& x, std::size_t axis, const AxisMap& from) {
  const auto at = static_cast<std::int64_t>(axis);
  Index shape = x.shape();
  shape[axis] = static_cast<std::int64_t>(from.size());
  Tensor out = Tensor::empty(x.dtype(), shape);
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    const std::int64_t source = from[static_cast<std::size_t>(i)];
    out.slice(at, i, i + 1).copy_from(x.slice(at, source, source + 1));
  }
  return out;
}

}  // namespace

void Reshape::reference(InSpan in, OutSpan out) const { out[0].copy_from(in[0].reshape(out[0].shape())); }
void Permute::reference(InSpan in, OutSpan out) const { out[0].copy_from(in[0].permute(axes)); }
void Expand::reference(InSpan in, OutSpan out) const { out[0].copy_from(in[0].expand(out[0].shape())); }

void Slice::reference(InSpan in, OutSpan out) const {
  out[0].copy_from(in[0].slice(axis, start.value(), end.value(), step));
}

void Flip::reference(InSpan in, OutSpan out) const {
  Tensor x = in[0];
  for (const std::int64_t axis : axes)
    x = x.slice(axis, x.shape()[static_cast<std::size_t>(axis)] - 1, -1, -1);
  out[0].copy_from(x);
}

void Concat::reference(InSpan in, OutSpan out) const {
  std::int64_t at = 0;
  for (const Tensor& x : in) {
    const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)];
    out[0].slice(axis, at, at + size).copy_from(x);
    at += size;
  }
}

void Pad::reference(InSpan in, OutSpan out) const {
  Tensor kept = in[0];
  const std::size_t rank = kept.rank();
  if (mode != PadMode::constant) {
    for (std::size_t i = 0; i < rank; ++i)
      if (pads[i] != 0 || pads[rank + i] != 0)
        kept = mapped_axis(kept, i, pad_map(*this, i, kept.shape()[i]));
    out[0].copy_from(kept);
    return;
  }
  fill(out[0], value);
  Tensor to = out[0];
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const std::int64_t before = pads[i].value(), after = pads[rank + i].value();
    const std::int64_t have = kept.shape()[i], want = to.shape()[i];
    kept = kept.slice(axis, std::clamp<std::int64_t>(-before, 0, have),
                      std::clamp<std::int64_t>(have + after, 0, have));
    const std::int64_t first = std::clamp<std::int64_t>(before, 0, want);
    to = to.slice(axis, first, std::min(first + kept.shape()[i], want));
    kept = kept.slice(axis, 0, to.shape()[i]);
  }
  to.copy_from(kept);
}

}  // namespace tenon
