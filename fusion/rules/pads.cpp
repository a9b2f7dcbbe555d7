// conv(pad(x)) = conv(x) with the zeros as its own padding: the padded map is never written. Nothing around x
// is x.
#include <algorithm>

#include "fusion/rules/rules.h"
#include "ir/ops/conv.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

/// The padding of a convolution as before each spatial axis, then after each.
Axes both_sides(const Axes& pad, std::size_t spatial) {
  if (pad.size() == 2 * spatial) return pad;
  Axes out = pad.size() == 1 ? Axes(spatial, pad[0]) : pad;
  out.insert(out.end(), out.begin(), out.end());
  return out;
}

/// [1,2,1,2] -> [1,2]: the shortest way to write it.
Axes shortest(const Axes& pad) {
  const auto half = pad.begin() + static_cast<std::ptrdiff_t>(pad.size() / 2);
  if (!std::equal(pad.begin(), half, half)) return pad;
  const bool one = std::all_of(pad.begin(), half, [&](std::int64_t p) { return p == pad[0]; });
  return one ? Axes{pad[0]} : Axes(pad.begin(), half);
}

/// Zeros around the spatial axes only.
bool is_zeros_around_maps(const Pad& pad) {
  const std::size_t rank = pad.pads.size() / 2;
  if (pad.mode != PadMode::constant || pad.value != 0 || rank < 3) return false;
  for (std::size_t i = 0; i < pad.pads.size(); ++i) {
    const Dim& d = pad.pads[i];
    if (!d.is_known() || d.value() < 0 || (i % rank < 2 && d != Dim(0))) return false;
  }
  return true;
}

Conv padded(const Match& m) {
  const Pad& around = m.op<Pad>();
  Conv conv = m.op<Conv>();
  const std::size_t rank = around.pads.size() / 2, spatial = rank - 2;
  Axes pad = both_sides(conv.pad, spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    pad[i] += around.pads[2 + i].value();
    pad[spatial + i] += around.pads[rank + 2 + i].value();
  }
  conv.pad = shortest(pad);
  return conv;
}

}  // namespace

Rule pad_of_nothing() {
  return {.name = "pad_of_nothing",
          .patterns = {op<Pad>(hole("x"))},
          .when =
              [](const Match& m) {
                const Shape& pads = m.op<Pad>().pads;
                return std::all_of(pads.begin(), pads.end(), [](const Dim& d) { return d == Dim(0); });
              },
          .build = [](const Match& m, const InsertionPoint& point) { return Ref(m["x"], point); }};
}

Rule pad_of_conv() {
  const Pattern x = op<Pad>(hole("x")), w = hole("w");
  return {.name = "pad_of_conv",
          .patterns = {op<Conv>(x, w), op<Conv>(x, w, hole("b"))},
          .when = [](const Match& m) { return is_zeros_around_maps(m.op<Pad>()); },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                std::vector<Ref> operands = {Ref(m["x"], point), Ref(m["w"], point)};
                if (m.has("b")) operands.emplace_back(m["b"], point);
                return apply(Op(padded(m)), std::span<const Ref>(operands));
              }};
}

}  // namespace tenon
