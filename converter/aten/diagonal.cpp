// Diagonals, and matrices put together from parts.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"

namespace tenon::converter {

namespace {

struct Diagonal {
  Dim start, length;
  std::int64_t step;  // in the flattened matrix
  Dim end() const { return length == Dim(0) ? start : start + (length - 1) * Dim(step) + 1; }
};

Diagonal diagonal_of(const Dim& rows, const Dim& columns, const Dim& offset) {
  if (!offset.is_known()) throw unsupported("a diagonal at an unknown offset ({})", offset.str());
  if (!columns.is_known())
    throw unsupported("a diagonal of a matrix with an unknown number of columns ({})", columns.str());
  const bool above = offset.value() >= 0;
  const Dim length =
      above ? min(rows, max(columns - offset, Dim(0))) : min(max(rows + offset, Dim(0)), columns);
  if (length == Dim(0)) return {Dim(0), length, columns.value() + 1};
  return {above ? offset : -offset * columns, length, columns.value() + 1};
}

/// The diagonal of the last two axes, as their only one.
Ref diagonal_of_last(const Ref& x, const Dim& offset) {
  const Dim rows = x.shape()[x.rank() - 2], columns = x.shape().back();
  const Diagonal d = diagonal_of(rows, columns, offset);
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  const auto last = static_cast<std::int64_t>(shape.size());
  shape.push_back(rows * columns);
  return slice(reshape(x, shape), last, d.start, d.end(), d.step);
}

std::vector<std::int64_t> moved_to_end(std::size_t rank, std::int64_t a, std::int64_t b) {
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (i != a && i != b) axes.push_back(i);
  axes.push_back(a);
  axes.push_back(b);
  return axes;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> out(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) out[at(axes[i])] = static_cast<std::int64_t>(i);
  return out;
}

Results diagonal(Call& call) {
  const bool linalg = call.find("A") != nullptr;
  const TensorPtr x = call.tensor_ptr(linalg ? "A" : "self");
  const std::int64_t a = call.axis("dim1", x->rank(), linalg ? -2 : 0);
  const std::int64_t b = call.axis("dim2", x->rank(), linalg ? -1 : 1);
  const Diagonal d = diagonal_of(x->shape()[at(a)], x->shape()[at(b)], call.size("offset", 0));
  TensorPtr flat = permuted(call.build, x, moved_to_end(x->rank(), a, b));
  Shape shape(flat->shape().begin(), flat->shape().end() - 2);
  const auto last = static_cast<std::int64_t>(shape.size());
  shape.push_back(x->shape()[at(a)] * x->shape()[at(b)]);
  flat = reshaped(call.build, flat, shape);
  const TensorPtr y = sliced(call.build, flat, last, d.start, d.end(), d.step);
  if (!x->layout) return y;
  const auto& strides = x->layout->strides;
  Layout layout;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(x->rank()); ++axis)
    if (axis != a && axis != b) layout.strides.push_back(strides[at(axis)]);
  layout.strides.push_back(strides[at(a)] + strides[at(b)]);
  const Dim offset = call.size("offset", 0);
  if (x->layout->offset)
    layout.offset =
        *x->layout->offset + max(offset, Dim(0)) * strides[at(b)] + max(-offset, Dim(0)) * strides[at(a)];
  y->layout = layout;
  return y;
}

/// Rows of values written along the diagonals of the last two axes of a matrix.
Ref with_diagonal(const Ref& x, const Ref& values, const Dim& offset) {
  const Dim rows = x.shape()[x.rank() - 2], columns = x.shape().back();
  const Diagonal d = diagonal_of(rows, columns, offset);
  Shape flat(x.shape().begin(), x.shape().end() - 2);
  const auto last = static_cast<std::int64_t>(flat.size());
  flat.push_back(rows * columns);
  Ref places = iota(d.length, x.insertion_point());
  places = places * static_cast<double>(d.step) + dim_value(d.start, places);
  Shape shape = flat;
  shape.back() = d.length;
  const Ref written = apply(IndexPut{.axes = {last}}, {reshape(x, flat), expand(values, shape), places});
  return reshape(written, x.shape());
}

Ref embedded(const Ref& values, std::int64_t offset) {
  Shape shape(values.shape().begin(), values.shape().end() - 1);
  const Dim size = values.shape().back() + std::abs(offset);
  shape.push_back(size);
  shape.push_back(size);
  return with_diagonal(full(shape, 0, values.dtype(), values.insertion_point()), values, Dim(offset));
}

/// NumPy's: every (columns + 1)-th element, of a tall matrix down to the last one when it wraps.
Results fill_diagonal(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() < 2) throw error("fill_diagonal_ of a tensor of rank {}", x.rank());
  Dim step(0), stride(1);
  for (std::size_t i = x.rank(); i-- > 0;) {
    step = step + stride;
    stride = stride * x.shape()[i];
  }
  Dim count = x.shape()[0];
  for (const Dim& size : x.shape()) count = min(count, size);
  if (call.flag("wrap", false) && x.rank() == 2) count = floor_div(stride + step - 1, step);
  const Ref places = iota(count, x.insertion_point()) * call.build.literal(AbstractValue(step), DType::i64);
  const Ref value = expand(operand(call.build, call.value("fill_value"), x.dtype()), {count});
  return reshape(apply(IndexPut{.axes = {0}}, {reshape(x, {stride}), value, places}), x.shape());
}

Results diag_embed(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t a = call.axis("dim1", x.rank() + 1, -2), b = call.axis("dim2", x.rank() + 1, -1);
  const Ref y = embedded(x, call.integer("offset", 0));
  return permute(y, inverse(moved_to_end(x.rank() + 1, a, b)));
}

Results diagflat(Call& call) {
  const Ref x = call.tensor("self");
  return embedded(reshape(x, {numel(x.shape())}), call.integer("offset", 0));
}

Results diag(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t offset = call.integer("diagonal", 0);
  if (x.rank() == 1) return embedded(x, offset);
  if (x.rank() != 2) throw error("diag of a tensor of rank {}", x.rank());
  return diagonal_of_last(x, Dim(offset));
}

Results diagonal_scatter(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t a = call.axis("dim1", x.rank(), 0), b = call.axis("dim2", x.rank(), 1);
  const auto order = moved_to_end(x.rank(), a, b);
  const Ref y = with_diagonal(permute(x, order), cast(x.dtype(), call.tensor("src")), call.size("offset", 0));
  return permute(y, inverse(order));
}

Results trace(Call& call) {
  const Ref d = diagonal_of_last(call.tensor("self"), Dim(0));
  return sum(is_float(d.dtype()) ? d : cast(DType::i64, d), {0});
}

Results block_diag(Call& call) {
  std::vector<AbstractValue> given;
  for (const TensorPtr& t : call.tensors("tensors")) given.emplace_back(t);
  std::vector<Ref> blocks = promoted(call.build, given);
  Dim rows(0), columns(0);
  for (Ref& x : blocks) {
    if (x.rank() > 2) throw error("block_diag of a tensor of rank {}", x.rank());
    if (x.rank() < 2) x = reshape(x, {Dim(1), numel(x.shape())});
    rows = rows + x.shape()[0];
    columns = columns + x.shape()[1];
  }
  Dim left(0);
  for (Ref& x : blocks) {
    const Dim width = x.shape()[1];
    x = pad(x, {Dim(0), left, Dim(0), columns - left - width});
    left = left + width;
  }
  return blocks.size() == 1 ? blocks[0] : concat(blocks, 0);
}

/// The Kronecker product.
Results kron(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given);
  const std::size_t rank = std::max(x[0].rank(), x[1].rank());
  Shape a(2 * rank, Dim(1)), b(2 * rank, Dim(1)), shape(rank, Dim(1));
  for (std::size_t i = 0; i < x[0].rank(); ++i) a[2 * (rank - x[0].rank() + i)] = x[0].shape()[i];
  for (std::size_t i = 0; i < x[1].rank(); ++i) b[2 * (rank - x[1].rank() + i) + 1] = x[1].shape()[i];
  for (std::size_t i = 0; i < rank; ++i) shape[i] = a[2 * i] * b[2 * i + 1];
  const Ref left = reshape(x[0], a), right = reshape(x[1], b);
  return reshape(is_bool(left.dtype()) ? logical_and(left, right) : left * right, shape);
}

/// The first axis of size 3 when none is named.
std::int64_t cross_axis(Call& call, const Shape& shape, std::int64_t fallback) {
  if (call.has("dim") || fallback < 0) return call.axis("dim", shape.size(), fallback);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == Dim(3)) return static_cast<std::int64_t>(i);
  throw error("cross of tensors without an axis of size 3");
}
template <std::int64_t fallback>
Results cross(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  auto x = promoted(call.build, given);
  const Shape shape = broadcast(x[0].shape(), x[1].shape());
  const std::int64_t axis = cross_axis(call, shape, fallback);
  for (Ref& r : x) r = expand(r, shape);
  const auto part = [&](const Ref& r, std::int64_t i) { return slice(r, axis, i % 3, i % 3 + 1); };
  std::vector<Ref> parts;
  for (std::int64_t i = 0; i < 3; ++i)
    parts.push_back(part(x[0], i + 1) * part(x[1], i + 2) - part(x[0], i + 2) * part(x[1], i + 1));
  return concat(parts, axis);
}

Results rot90(Call& call) {
  const Ref x = call.tensor("self");
  const auto dims = call.integers("dims", {0, 1});
  if (dims.size() != 2) throw error("rot90 in {} axes", dims.size());
  const std::int64_t a = normalize_axis(dims[0], x.rank()), b = normalize_axis(dims[1], x.rank());
  switch ((call.integer("k", 1) % 4 + 4) % 4) {
    case 1: return transpose(flip(x, {b}), a, b);
    case 2: return flip(x, {std::min(a, b), std::max(a, b)});
    case 3: return flip(transpose(x, a, b), {b});
    default: return x;
  }
}

/// The rows of a grid over the vectors.
Results cartesian_prod(Call& call) {
  std::vector<AbstractValue> given;
  for (const TensorPtr& t : call.tensors("tensors")) given.emplace_back(t);
  if (given.size() == 1) return given[0];
  const std::vector<Ref> vectors = promoted(call.build, given);
  Shape grid;
  for (const Ref& v : vectors) grid.push_back(numel(v.shape()));
  std::vector<Ref> columns;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Shape own(grid.size(), Dim(1));
    own[i] = grid[i];
    columns.push_back(reshape(expand(reshape(vectors[i], own), grid), {numel(grid), Dim(1)}));
  }
  return concat(columns, 1);
}

void choose(std::int64_t n, std::int64_t r, bool repeat, std::vector<std::int64_t>& chosen,
            std::vector<std::int64_t>& out) {
  if (static_cast<std::int64_t>(chosen.size()) == r) {
    out.insert(out.end(), chosen.begin(), chosen.end());
    return;
  }
  for (std::int64_t i = chosen.empty() ? 0 : chosen.back() + (repeat ? 0 : 1); i < n; ++i) {
    chosen.push_back(i);
    choose(n, r, repeat, chosen, out);
    chosen.pop_back();
  }
}
Results combinations(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t r = call.integer("r", 2);
  const Dim size = numel(x.shape());
  if (!size.is_known()) throw unsupported("combinations of an unknown number of elements ({})", size.str());
  if (r == 0) return full({Dim(0)}, 0, x.dtype(), call.build.insertion_point());
  std::vector<std::int64_t> chosen, all;
  choose(size.value(), r, call.flag("with_replacement", false), chosen, all);
  tenon::Tensor places = tenon::Tensor::empty(DType::i64, {static_cast<std::int64_t>(all.size()) / r, r});
  std::copy(all.begin(), all.end(), places.mutable_data<std::int64_t>());
  return index_select(x, 0, call.build.ref(call.build.graph().add_weight("const.combinations", places)));
}

constexpr AtenEntry diagonal_table[] = {
    {"diagonal", diagonal},
    {"diag", diag},
    {"diagflat", diagflat},
    {"diag_embed", diag_embed},
    {"diagonal_scatter", diagonal_scatter},
    {"trace", trace},
    {"fill_diagonal", fill_diagonal},
    {"block_diag", block_diag},
    {"kron", kron},
    {"cross", cross<0>},
    {"linalg_cross", cross<-1>},
    {"linalg_diagonal", diagonal},
    {"rot90", rot90},
    {"cartesian_prod", cartesian_prod},
    {"combinations", combinations},
};

}  // namespace

std::span<const AtenEntry> diagonal_entries() { return diagonal_table; }

}  // namespace tenon::converter
