// Tensors from attributes alone.
#pragma once
#include "ir/ops/spans.h"

namespace tenon {

/// A tensor of one value.
struct Full : WithReference<0> {
  static constexpr std::string_view name = "full";
  Shape shape;
  double value = 0;
  DType dtype = DType::f32;
  static constexpr auto fields =
      std::tuple{field("shape", &Full::shape), field("value", &Full::value), field("dtype", &Full::dtype)};
  Type infer() const { return {dtype, shape}; }
  void reference(InSpan in, OutSpan out) const;
};

/// 0, 1, ..., size - 1.
struct Iota : WithReference<0> {
  static constexpr std::string_view name = "iota";
  Dim size = 0;
  DType dtype = DType::i64;
  static constexpr auto fields = std::tuple{field("size", &Iota::size), field("dtype", &Iota::dtype)};
  Type infer() const { return {dtype, {size}}; }
  void reference(InSpan in, OutSpan out) const;
};

/// A size as a number: i64, rank 0.
struct DimValue : WithReference<0> {
  static constexpr std::string_view name = "dim_value";
  Dim value = 0;
  static constexpr auto fields = std::tuple{field("value", &DimValue::value)};
  Type infer() const { return {DType::i64, {}}; }
  void reference(InSpan in, OutSpan out) const;
};

using Create = OpList<Full, Iota, DimValue>;

}  // namespace tenon
