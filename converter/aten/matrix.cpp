// Matrix products.
#include "compose/matrix.h"

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

Ref with_axis(const Ref& x, std::size_t axis) {
  return reshape(x, tenon::with_axis(x.shape(), static_cast<std::int64_t>(axis)));
}

Ref without_axis(const Ref& x, std::size_t axis) {
  return reshape(x, tenon::without_axis(x.shape(), static_cast<std::int64_t>(axis)));
}

Results matmul(Call& call) {
  return product(call.tensor("self"), call.tensor(call.find("mat2") ? "mat2" : "other"));
}
/// Of bytes, in 32 bits.
Results int_mm(Call& call) {
  return product(cast(DType::i32, call.tensor("self")), cast(DType::i32, call.tensor("mat2")));
}
Results mv(Call& call) { return product(call.tensor("self"), call.tensor("vec")); }
Results dot(Call& call) {
  const Ref a = call.tensor("self");
  return sum(a * call.tensor(call.find("tensor") ? "tensor" : "other"), {0});
}
Results outer(Call& call) {
  const std::array given = {call.value("self"), call.value("vec2")};
  const auto x = promoted(call.build, given);
  return with_axis(x[0], 1) * with_axis(x[1], 0);
}

/// Over the last axes of both.
Results inner(Call& call) {
  const Ref a = call.tensor("self");
  const Ref b = call.tensor("other");
  if (a.rank() == 0 || b.rank() == 0) return a * b;
  if (b.rank() == 1) return product(a, b);
  if (b.rank() > 2)
    throw unsupported("inner with a right operand of rank {}", b.rank())
        .hint("use torch.tensordot or einsum");
  return product(a, transpose(b, 0, 1));
}

Ref scaled(Call& call, const Ref& x, std::string_view factor) {
  if (!call.has(factor)) return x;
  const AbstractValue& f = call.value(factor);
  const auto* dim = f.get<Dim>();
  const auto* real = f.get<double>();
  if ((dim && *dim == Dim(1)) || (real && *real == 1)) return x;
  return x * call.build.literal(f, x.dtype());
}

/// beta * self + alpha * product; self is not read when beta is 0.
Ref added(Call& call, const Ref& x) {
  const Ref scaled_product = scaled(call, x, "alpha");
  if (call.has("beta") && call.number("beta") == 0) return call.ignore({"self"}), scaled_product;
  return scaled(call, call.tensor("self"), "beta") + scaled_product;
}

Results addmm(Call& call) { return added(call, product(call.tensor("mat1"), call.tensor("mat2"))); }
Results baddbmm(Call& call) { return added(call, product(call.tensor("batch1"), call.tensor("batch2"))); }
Results addbmm(Call& call) {
  return added(call, sum(product(call.tensor("batch1"), call.tensor("batch2")), {0}));
}
Results addmv(Call& call) { return added(call, product(call.tensor("mat"), call.tensor("vec"))); }
Results addr(Call& call) {
  return added(call, with_axis(call.tensor("vec1"), 1) * with_axis(call.tensor("vec2"), 0));
}

/// The bias as a number for each output, where it is one for all rows: PyTorch broadcasts it.
Ref of_outputs(const Ref& bias, const Dim& outputs) {
  const Shape& sizes = bias.shape();
  if (sizes == Shape{outputs}) return bias;
  const Dim own = sizes.empty() ? Dim(1) : sizes.back();
  if (numel(sizes) != own || (own != Dim(1) && own != outputs)) return {};
  return expand(reshape(bias, {own}), {outputs});
}

Results linear(Call& call) {
  const Ref x = call.tensor("input");
  const Ref weight = call.tensor("weight");
  const Ref bias = call.optional_tensor("bias");
  if (weight.rank() == 1) {
    const Ref y = product(x, weight);
    return bias ? y + bias : y;
  }
  const Ref rows = x.rank() == 1 ? with_axis(x, 0) : x;
  const Ref added = bias && bias.rank() <= rows.rank() ? of_outputs(bias, weight.shape()[0]) : Ref();
  Ref y = added ? tenon::linear(rows, weight, added) : tenon::linear(rows, weight);
  if (x.rank() == 1) y = without_axis(y, 0);
  return bias && !added ? y + bias : y;
}

Results bilinear(Call& call) {
  const Ref a = call.tensor("input1");
  const Ref b = call.tensor("input2");
  const Ref weight = call.tensor("weight");
  const Ref bias = call.optional_tensor("bias");
  // y[..., o] = sum over i, j of a[..., i] weight[o, i, j] b[..., j]
  const auto w = weight.shape();
  const Ref flat = reshape(permute(weight, {1, 0, 2}), {w[1], w[0] * w[2]});
  Shape split(a.shape().begin(), a.shape().end() - 1);
  split.push_back(w[0]);
  split.push_back(w[2]);
  const Ref left = reshape(product(a, flat), split);
  const Ref y = sum(left * with_axis(b, b.rank() - 1), {static_cast<std::int64_t>(split.size()) - 1});
  return bias ? y + bias : y;
}

/// Rows of x[S, K] in groups, each with a matrix of its own from w[G, K, N]; offs holds the groups' ends. All
/// rows are multiplied with all matrices, since the sizes of the groups are data.
Results grouped_mm(Call& call) {
  const Ref x = call.tensor("self"), w = call.tensor("mat2");
  if (call.has("bias")) throw unsupported("_grouped_mm with a bias");
  const DType dtype = call.dtype("out_dtype").value_or(x.dtype());
  if (x.rank() == 3 && w.rank() == 3 && !call.has("offs")) return cast(dtype, tenon::matmul(x, w));
  if (x.rank() != 2 || w.rank() != 3 || !call.has("offs"))
    throw unsupported("_grouped_mm of {} and {}", x.type().str(), w.type().str());
  const Ref ends = cast(DType::i64, call.tensor("offs"));
  const Dim rows = x.shape()[0], columns = w.shape()[2];
  const Ref group = apply(SearchSorted{.right = true}, {ends, iota(rows, x.insertion_point())});
  const Ref last = dim_value(w.shape()[0] - 1, group);
  const Ref places = reshape(minimum(group, last), {Dim(1), rows, Dim(1)});
  const Ref y = gather(tenon::matmul(x, w), 0, expand(places, {Dim(1), rows, columns}));
  return cast(dtype, where(reshape(group <= last, {rows, Dim(1)}), without_axis(y, 0), 0));
}

constexpr AtenEntry matrix_table[] = {
    {"_grouped_mm", grouped_mm},
    {"_int_mm", int_mm},
    {"matmul", matmul},
    {"mm", matmul},
    {"bmm", matmul},
    {"mv", mv},
    {"dot", dot, HalfPrecision::in_f32},
    {"vdot", dot, HalfPrecision::in_f32},
    {"inner", inner},
    {"outer", outer},
    {"ger", outer},
    {"addmm", addmm, HalfPrecision::in_f32},
    {"baddbmm", baddbmm, HalfPrecision::in_f32},
    {"addbmm", addbmm, HalfPrecision::in_f32},
    {"addmv", addmv, HalfPrecision::in_f32},
    {"addr", addr, HalfPrecision::in_f32},
    {"linear", linear},
    {"bilinear", bilinear, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> matrix_entries() { return matrix_table; }

}  // namespace tenon::converter
