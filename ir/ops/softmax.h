// Softmax and its logarithm. 16-bit floats are computed in f32.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

struct Softmax : Composite<1> {
  static constexpr std::string_view name = "softmax";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &Softmax::axis)};
  Axes row_axes(std::size_t) const { return {axis}; }
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
  static constexpr std::array from = {aten("softmax.int(self, axis=dim)"), aten("_softmax(self, axis=dim)")};
};

struct LogSoftmax : Composite<1> {
  static constexpr std::string_view name = "log_softmax";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &LogSoftmax::axis)};
  Axes row_axes(std::size_t) const { return {axis}; }
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
  static constexpr std::array from = {aten("log_softmax.int(self, axis=dim)"),
                                      aten("_log_softmax(self, axis=dim)")};
};

using Softmaxes = OpList<Softmax, LogSoftmax>;

}  // namespace tenon
