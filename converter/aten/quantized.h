// PyTorch's quantised tensors: integers that stand for (integer - zero point) * scale. Tenon computes with
// the real numbers they stand for and rounds these to the grid where PyTorch rounds to integers.
#pragma once
#include <optional>
#include <span>

#include "converter/aten/table.h"

namespace tenon::converter {

/// How the interpreter represents a quantised tensor: a tuple of a special kind.
struct Quantized {
  TensorPtr real;             // the numbers that its integers stand for
  AbstractValue scale, zero;  // a float and an int; along an axis: vectors
  std::int64_t dtype = 0;     // of the integers, as c10 counts it
  std::optional<std::int64_t> axis;
};
constexpr std::int64_t qint8 = 12, quint8 = 13, qint32 = 14;  // c10's numbers of dtypes
/// The least and the largest integer of such a dtype.
std::pair<double, double> bounds_of(std::int64_t dtype);
/// A scale or zero point as f32 that broadcasts against a tensor of this rank.
Ref beside(Builder&, const AbstractValue&, std::size_t rank, std::optional<std::int64_t> axis);
AbstractValue as_value(const Quantized&);
bool is_quantized(const AbstractValue&);
/// Also takes quantised tensors of a file, whose integers become real numbers. Throws Error(unsupported) for
/// any other value.
Quantized quantized_of(Builder&, const AbstractValue&);

/// True for an operator of quantised tensors: one of theirs, or any on such a tensor.
bool is_quantized_call(std::string_view name, std::span<const Argument>);
/// Runs one. An operator that moves or compares elements keeps the grid, one that averages rounds to it
/// again; any other is refused by name.
std::vector<AbstractValue> run_quantized(Builder&, std::string_view name, std::string_view overload,
                                         std::vector<Argument>);
/// x.dtype and its kin; nullopt for what the real numbers say.
std::optional<AbstractValue> quantized_property(std::string_view kind, const AbstractValue&);

/// Rounded to the integers from `low` to `high` on a grid, and back; what PyTorch calls fake quantisation.
/// Scale and zero point are f32 and broadcast.
struct Grid {
  Ref scale, zero;
  double low = 0, high = 255;
};
Ref on_grid(const Ref& x, const Grid&);
/// On the grid of 8 bits (7 with `reduced`) that the range of x, and 0, takes.
Ref on_own_grid(const Ref& x, bool reduced);

/// The result of an operator, rounded to a grid of one scale.
AbstractValue rounded(Builder&, const Ref& y, const AbstractValue& scale, const AbstractValue& zero,
                      std::int64_t dtype);

/// A linear layer's packed parameters.
struct PackedLinear {
  Ref weight, bias;
};
PackedLinear packed_linear(Builder&, const AbstractValue&);

}  // namespace tenon::converter
