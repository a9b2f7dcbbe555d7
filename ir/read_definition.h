// How OpInfo is read off an operator's struct. Only the .cpp of the family that lists the operator includes
// this: it is many templates for each operator, which no user of the operator needs.
#pragma once
#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/define.h"

namespace tenon {

namespace define_detail {

template <class T, class F, std::size_t... I>
auto call(const T& op, F f, auto inputs, std::index_sequence<I...>) {
  return f(op, inputs[I]...);
}

template <class T>
Expr make_expr(const T& op) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return op.value(Expr::input(static_cast<int>(I))...);
  }
  (std::make_index_sequence<T::min_inputs>{});
}

std::vector<Type> infer_pointwise(const Expr&, std::span<const Type> inputs);

template <class T, std::size_t... I>
constexpr bool fixed_infer(std::index_sequence<I...>) {
  return requires(const T& op, const Type& t) { op.infer(((void)I, t)...); };
}
template <class T, std::size_t... I>
constexpr bool fixed_decompose(std::index_sequence<I...>) {
  return requires(const T& op, Ref r) { op.decompose(((void)I, r)...); };
}
template <class T>
constexpr auto operands = std::make_index_sequence<static_cast<std::size_t>(T::min_inputs)>{};

template <class T>
std::vector<Type> infer(const Op& op, std::span<const Type> in) {
  const T& self = *static_cast<const T*>(op.self());
  if constexpr (T::op_kind == OpKind::pointwise) {
    return infer_pointwise(make_expr(self), in);
  } else if constexpr (T::min_inputs == T::max_inputs && fixed_infer<T>(operands<T>)) {
    return [&]<std::size_t... I>(std::index_sequence<I...>)->std::vector<Type> {
      return {self.infer(in[I]...)};
    }
    (operands<T>);
  } else {
    return self.infer(in);
  }
}

template <class T>
std::vector<Ref> decompose(const void* op, std::span<const Ref> in) {
  const T& self = *static_cast<const T*>(op);
  if constexpr (T::min_inputs == T::max_inputs && fixed_decompose<T>(operands<T>)) {
    return [&]<std::size_t... I>(std::index_sequence<I...>)->std::vector<Ref> {
      return {self.decompose(in[I]...)};
    }
    (operands<T>);
  } else {
    return self.decompose(in);
  }
}

template <class T>
std::vector<FieldInfo> field_infos() {
  std::vector<FieldInfo> out;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (out.push_back(
         {std::get<I>(T::fields).name,
          [](const void* op) { return to_attr(static_cast<const T*>(op)->*(std::get<I>(T::fields).member)); },
          [](void* op, const Attr& a) {
            auto& member = static_cast<T*>(op)->*(std::get<I>(T::fields).member);
            member = from_attr<std::remove_reference_t<decltype(member)>>(a);
          }}),
     ...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(T::fields)>>>{});
  return out;
}

template <class T>
bool equal(const void* a, const void* b) {
  return std::apply(
      [&](auto... f) {
        return ((static_cast<const T*>(a)->*(f.member) == static_cast<const T*>(b)->*(f.member)) && ...);
      },
      T::fields);
}

template <class T>
RegionRules region_rules() {
  return {
      .infer = [](const void* op, std::span<const Type> in,
                  std::span<const RegionType> r) { return static_cast<const T*>(op)->infer(in, r); },
      .evaluate = [](const void* op, std::span<const Tensor> in, std::span<const RegionFunction> r,
                     std::span<const Type> out) { return static_cast<const T*>(op)->evaluate(in, r, out); },
      .flops = [](const void* op, std::span<const double> r) { return static_cast<const T*>(op)->flops(r); },
      .input_of = [](const void* op, std::size_t i) { return static_cast<const T*>(op)->input_of(i); },
  };
}

/// What operators without regions say.
template <class T>
void set_rules(OpInfo& info) {
  info.infer = infer<T>;
  if constexpr (T::op_kind == OpKind::pointwise) {
    info.expr = [](const void* op) { return make_expr(*static_cast<const T*>(op)); };
    info.real_operands = T::real_operands || needs_real(make_expr(T{}));
  }
  if constexpr (T::op_kind == OpKind::reference)
    info.reference = [](const void* op, std::span<const Tensor> in, std::span<Tensor> out) {
      static_cast<const T*>(op)->reference(in, out);
    };
  if constexpr (T::op_kind == OpKind::composite) info.decompose = decompose<T>;
  if constexpr (requires { &T::flops; })
    info.flops = [](const void* op, std::span<const Type> in, std::span<const Type> out) {
      return static_cast<const T*>(op)->flops(in, out);
    };
  if constexpr (requires { &T::reduction; })
    info.reduction = [](const void* op) { return static_cast<const T*>(op)->reduction(); };
  if constexpr (requires { &T::row_axes; })
    info.row_axes = [](const void* op, std::size_t rank) {
      return static_cast<const T*>(op)->row_axes(rank);
    };
  if constexpr (requires { &T::gradient; })
    info.gradient = [](const void* op, std::span<const Ref> in, std::span<const Ref> out,
                       std::span<const Ref> grads) {
      return static_cast<const T*>(op)->gradient(in, out, grads);
    };
  info.has_gradient = info.gradient != nullptr || T::op_kind != OpKind::reference;
}

template <class T>
OpInfo make_info() {
  OpInfo info{};
  info.name = T::name;
  info.op_kind = T::op_kind;
  info.min_inputs = T::min_inputs;
  info.max_inputs = T::max_inputs;
  info.regions = T::regions;
  info.fields = field_infos<T>();
  info.from = T::from;
  info.gives_size = T::gives_size;
  info.anchor = T::anchor;
  info.takes_strings = T::takes_strings;
  info.make = [] { return Op(T{}); };
  info.equal = equal<T>;
  info.copy = [](const void* op) -> std::shared_ptr<void> {
    return std::make_shared<T>(*static_cast<const T*>(op));
  };
  if constexpr (T::regions > 0)
    info.region_rules = region_rules<T>();
  else
    set_rules<T>(info);
  return info;
}

}  // namespace define_detail

template <class T>
[[gnu::used, gnu::noinline]] const OpInfo& op_info() {
  static const OpInfo info = define_detail::make_info<T>();
  return info;
}

/// The definitions of a family: what a family's .cpp gives to ir/ops/all.cpp.
template <class... T>
std::vector<const OpInfo*> family(OpList<T...>) {
  return {&op_info<T>()...};
}

}  // namespace tenon
