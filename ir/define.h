// How an operator is defined: the bases its struct derives from. OpInfo is read off it in
// ir/read_definition.h.
#pragma once
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ir/build.h"
#include "ir/op.h"

namespace tenon {

/// An attribute: field("slope", &LeakyRelu::slope). The initialiser of the member is the default.
template <class T, class C>
struct Field {
  std::string_view name;
  T C::*member;
};
template <class T, class C>
constexpr Field<T, C> field(std::string_view name, T C::*member) {
  return {name, member};
}

/// What a struct may leave out.
struct Operator {
  static constexpr std::tuple<> fields{};
  static constexpr std::array<Mapping, 0> from{};
  static constexpr int regions = 0;
  static constexpr bool real_operands = false;
  static constexpr bool gives_size = false;
  static constexpr bool anchor = false;
  static constexpr bool takes_strings = false;
};

/// Add `Expr value(Expr...) const`: the type rule, the reference, kernels and the gradient follow from it.
template <int N>
struct Pointwise : Operator {
  static constexpr OpKind op_kind = OpKind::pointwise;
  static constexpr bool takes_strings = true;
  static constexpr int min_inputs = N, max_inputs = N;
};

/// Add `std::vector<Ref> decompose(std::span<const Ref>) const`, or for a fixed number of operands and one
/// result `Ref decompose(Ref...) const`; and infer (see WithReference).
template <int Min, int Max = Min>
struct Composite : Operator {
  static constexpr OpKind op_kind = OpKind::composite;
  static constexpr int min_inputs = Min, max_inputs = Max;
};

/// Add `std::vector<Type> infer(std::span<const Type>) const` (or `Type infer(const Type&...) const`) and
/// `void reference(std::span<const Tensor>, std::span<Tensor>) const`; and if it is differentiable
/// `std::vector<Ref> gradient(inputs, outputs, grads) const`; and if it does arithmetic
/// `double flops(TypeSpan inputs, TypeSpan outputs) const` (a multiply-add counts two).
template <int Min, int Max = Min>
struct WithReference : Operator {
  static constexpr OpKind op_kind = OpKind::reference;
  static constexpr int min_inputs = Min, max_inputs = Max;
};

/// Add `std::vector<Type> infer(TypeSpan inputs, std::span<const RegionType> regions) const`,
/// `std::vector<Tensor> evaluate(std::span<const Tensor> inputs, std::span<const RegionFunction> regions,
/// TypeSpan outputs) const`,
/// `double flops(std::span<const double> regions) const` and
/// `std::optional<std::size_t> input_of(std::size_t parameter) const` (see RegionRules).
template <int Regions, int MinInputs>
struct WithRegions : Operator {
  static constexpr OpKind op_kind = OpKind::reference;
  static constexpr bool takes_strings = true;
  static constexpr int regions = Regions;
  static constexpr int min_inputs = MinInputs, max_inputs = -1;
};

/// A family: struct types in the order `tenon ops` shows them.
template <class... T>
struct OpList {};

}  // namespace tenon
