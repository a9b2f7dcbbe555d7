// Operators that move elements and compute nothing.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The same elements in row-major order. The numbers of elements must be known to be equal.
struct Reshape : WithReference<1> {
  static constexpr std::string_view name = "reshape";
  static constexpr bool takes_strings = true;
  Shape shape;
  static constexpr auto fields = std::tuple{field("shape", &Reshape::shape)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

/// Axis i of the result is axis axes[i] of x.
struct Permute : WithReference<1> {
  static constexpr std::string_view name = "permute";
  static constexpr bool takes_strings = true;
  Axes axes;
  static constexpr auto fields = std::tuple{field("axes", &Permute::axes)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("permute(self, axes=dims)")};
};

/// Elements start, start + step, ... before end. Bounds lie in [0, size]; with a negative step in
/// [-1, size - 1], and end -1 is before the first element.
struct Slice : WithReference<1> {
  static constexpr std::string_view name = "slice";
  static constexpr bool takes_strings = true;
  std::int64_t axis = 0;
  Dim start = 0, end = 0;
  std::int64_t step = 1;
  static constexpr auto fields = std::tuple{field("axis", &Slice::axis), field("start", &Slice::start),
                                            field("end", &Slice::end), field("step", &Slice::step)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

/// Axes of size 1 repeated; new axes come in front.
struct Expand : WithReference<1> {
  static constexpr std::string_view name = "expand";
  static constexpr bool takes_strings = true;
  Shape shape;
  static constexpr auto fields = std::tuple{field("shape", &Expand::shape)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

struct Concat : WithReference<1, -1> {
  static constexpr std::string_view name = "concat";
  static constexpr bool takes_strings = true;
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &Concat::axis)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {onnx("Concat(x..., axis=axis)")};
};

enum class PadMode : std::uint8_t { constant, reflect, replicate, circular };
template <>
struct EnumNames<PadMode> {
  static constexpr std::array names = {"constant", "reflect", "replicate", "circular"};
};

/// `pads` lists the amounts before every axis, then those after every axis. Negative amounts crop (mode
/// constant).
struct Pad : WithReference<1> {
  static constexpr std::string_view name = "pad";
  Shape pads;
  PadMode mode = PadMode::constant;
  double value = 0;
  static constexpr auto fields =
      std::tuple{field("pads", &Pad::pads), field("mode", &Pad::mode), field("value", &Pad::value)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

struct Flip : WithReference<1> {
  static constexpr std::string_view name = "flip";
  static constexpr bool takes_strings = true;
  Axes axes;
  static constexpr auto fields = std::tuple{field("axes", &Flip::axes)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("flip(self, axes=dims)")};
};

using ShapeOps = OpList<Reshape, Permute, Slice, Expand, Concat, Pad, Flip>;

}  // namespace tenon
