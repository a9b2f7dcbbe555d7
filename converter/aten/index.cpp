// Reading and writing at places that a tensor names.
#include "ir/ops/index.h"

#include "base/error.h"
#include "compose/p_norm.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/masked.h"
#include "ir/ops/reduce.h"

namespace tenon::converter {

namespace {

bool is_mask(const TensorPtr& t) { return is_bool(t->dtype()) || t->dtype() == DType::u8; }

struct Indices {
  std::vector<std::int64_t> axes;
  std::vector<Ref> values;
};

/// The entries of x[i, :, j]: None leaves an axis alone.
Indices indices_of(Call& call, std::string_view argument) {
  const AbstractValue list = call.value(argument);
  Indices out;
  std::int64_t axis = 0;
  for (const AbstractValue& d : *items_of(list)) {
    if (const auto* t = d.get<TensorPtr>()) {
      if (is_mask(*t)) {
        const Ref mask = call.build.read(*t);
        if (mask.rank() == 0) throw unsupported("a mask of rank 0 as an index");
        for (const Ref& places : true_places(call.build, mask)) {
          out.axes.push_back(axis++);
          out.values.push_back(places);
        }
        continue;
      }
      out.axes.push_back(axis);
      out.values.push_back(call.build.read(*t));
    } else if (!d.is_none()) {
      throw unsupported("an index that is {}", kind_name(d));
    }
    ++axis;
  }
  return out;
}

Results index(Call& call) {
  const Ref x = call.tensor("self");
  const Indices i = indices_of(call, "indices");
  if (i.axes.empty()) return x;
  if (i.axes.size() == 1 && i.values[0].rank() == 0 && x.rank() == 0)
    throw error("an index into a rank-0 tensor");
  std::vector<Ref> operands = {x};
  operands.insert(operands.end(), i.values.begin(), i.values.end());
  return tenon::apply(IndexAt{.axes = i.axes}, operands);
}

/// x where the mask is true set to the values, one after the other.
Ref filled_in_order(const Ref& x, const Ref& given, const Ref& values) {
  return apply(MaskedScatter{}, {x, expand(given, x.shape()), reshape(values, {numel(values.shape())})});
}
Results masked_scatter(Call& call) {
  const Ref x = call.tensor("self"), mask = call.tensor("mask");
  const Ref source = call.tensor("source");
  const Ref wide = expand(x, broadcast(x.shape(), mask.shape()));
  if (numel(source.shape()) == Dim(0)) return wide;
  return filled_in_order(wide, cast(DType::boolean, mask), source);
}

/// x[mask] = value, or += value with `accumulate`.
std::optional<Ref> put_by_mask(Call& call, const Ref& x, const Ref& value, bool accumulate) {
  const AbstractValue list = call.value("indices");
  const auto& items = *items_of(list);
  if (items.size() != 1 || !items[0].is_tensor() || !is_mask(*items[0].get<TensorPtr>())) return std::nullopt;
  const Ref given = cast(DType::boolean, call.build.read(*items[0].get<TensorPtr>()));
  const std::size_t behind = x.rank() - given.rank();  // axes that the mask does not cover
  Shape shape = given.shape();
  shape.resize(x.rank(), Dim(1));
  const Ref mask = reshape(given, shape);
  Shape of_value = value.shape();
  while (of_value.size() > behind && of_value.front() == Dim(1)) of_value.erase(of_value.begin());
  if (of_value.size() <= behind) {
    const Ref each = reshape(value, of_value);
    return where(mask, accumulate ? x + each : expand(each, x.shape()), x);
  }
  if (behind > 0 || of_value.size() != 1 || has_data_size(of_value[0])) return std::nullopt;
  return accumulate ? x + filled_in_order(zeros_like(x), given, value) : filled_in_order(x, given, value);
}

Results index_put(Call& call) {
  const Ref x = call.tensor("self");
  const Ref value = cast(x.dtype(), call.tensor("values"));
  IndexPut op;
  op.accumulate = call.flag("accumulate", false);
  call.ignore({"unsafe"});
  if (auto masked = put_by_mask(call, x, value, op.accumulate)) return *masked;
  const Indices i = indices_of(call, "indices");
  op.axes = i.axes;
  std::vector<Ref> operands = {x, value};
  operands.insert(operands.end(), i.values.begin(), i.values.end());
  return tenon::apply(op, operands);
}

Results index_select_op(Call& call) {
  const Ref x = call.tensor("self");
  const Ref places = call.tensor("index");
  return index_select(x, call.axis("dim", x.rank()), places.rank() == 0 ? reshape(places, {Dim(1)}) : places);
}

Results gather_op(Call& call) {
  const Ref x = call.tensor("self");
  call.flag("sparse_grad", false);
  const Ref places = call.tensor("index");
  if (numel(places.shape()) == Dim(0)) {
    call.ignore({"dim"});
    return full(places.shape(), 0, x.dtype(), call.build.insertion_point());
  }
  if (x.rank() > 0) return gather(x, call.axis("dim", x.rank()), places);
  call.ignore({"dim"});
  return reshape(gather(reshape(x, {Dim(1)}), 0, reshape(places, {numel(places.shape())})), places.shape());
}
/// Places counted from the end when negative.
Ref from_start(const Ref& places, const Dim& size) {
  return where(places < places.literal(0), places + dim_value(size, places), places);
}
Results take_along_dim(Call& call) {
  const Ref x = call.tensor("self");
  const Dim size = call.has("dim") ? x.shape()[at(call.axis("dim", x.rank()))] : numel(x.shape());
  const Ref places = from_start(call.tensor("indices"), size);
  if (!call.has("dim"))
    return gather(reshape(x, {numel(x.shape())}), 0, reshape(places, {numel(places.shape())}));
  const std::int64_t axis = call.axis("dim", x.rank());
  Shape like_x = broadcast(Shape(x.shape()), [&] {
    Shape s = places.shape();
    s[at(axis)] = Dim(1);
    return s;
  }());
  Shape like_places = like_x;
  like_x[at(axis)] = x.shape()[at(axis)];
  like_places[at(axis)] = places.shape()[at(axis)];
  return gather(expand(x, like_x), axis, expand(places, like_places));
}
Results take(Call& call) {
  const Ref x = call.tensor("self");
  return apply(IndexAt{.axes = {0}}, {reshape(x, {numel(x.shape())}), call.tensor("index")});
}

/// Rows that the indices name, shortened where they are longer than max_norm.
Results embedding_renorm(Call& call) {
  const Ref weight = call.tensor("self"), indices = call.tensor("indices");
  const Ref flat = reshape(indices, {numel(indices.shape())});
  const double most = call.number("max_norm");
  const Dim rows = weight.shape()[0];
  const Ref length = p_norm(weight, call.number("norm_type"), {1}, true);
  const Ref ones = full(flat.shape(), 1, DType::i64, call.build.insertion_point());
  const Ref named = index_add(full({rows}, 0, DType::i64, call.build.insertion_point()), 0, flat, ones);
  const Ref used = reshape(named > named.literal(0), {rows, Dim(1)});
  const Ref shorter = logical_and(used, length > length.literal(most));
  return where(shorter, weight * (length.literal(most) / (length + 1e-7)), weight);
}
Results embedding(Call& call) {
  call.ignore({"padding_idx", "scale_grad_by_freq", "sparse"});
  return index_select(call.tensor("weight"), 0, call.tensor("indices"));
}

/// The part of src that the indices cover.
Ref covered(Ref src, const Ref& indices) {
  for (std::size_t i = 0; i < src.rank(); ++i)
    if (src.shape()[i] != indices.shape()[i])
      src = slice(src, static_cast<std::int64_t>(i), 0, indices.shape()[i]);
  return src;
}

ScatterReduce reduce_from(const std::string& word) {
  if (word == "add" || word == "sum") return ScatterReduce::sum;
  if (word == "multiply" || word == "prod") return ScatterReduce::prod;
  if (word == "amax") return ScatterReduce::amax;
  if (word == "amin") return ScatterReduce::amin;
  if (word == "mean") return ScatterReduce::mean;
  throw unsupported("scatter with reduce='{}'", word);
}

Results scattered(Call& call, ScatterReduce reduce, bool include_self) {
  const Ref x = call.tensor("self");
  const Ref places = call.tensor("index");
  const AbstractValue& given = call.value(call.find("src") ? "src" : "value");
  Ref src = operand(call.build, given, x.dtype());
  src = given.is_tensor() && src.rank() == places.rank() ? covered(src, places) : expand(src, places.shape());
  return apply(Scatter{.axis = call.axis("dim", x.rank()), .reduce = reduce, .include_self = include_self},
               {x, places, src});
}
Results scatter(Call& call) {
  return scattered(call, call.has("reduce") ? reduce_from(call.word("reduce", "")) : ScatterReduce::none,
                   true);
}
Results scatter_add(Call& call) { return scattered(call, ScatterReduce::sum, true); }
Results scatter_reduce(Call& call) {
  return scattered(call, reduce_from(call.word("reduce", "")), call.flag("include_self", true));
}

Results index_add_op(Call& call) {
  const Ref x = call.tensor("self");
  Ref src = cast(x.dtype(), call.tensor("source"));
  if (call.has("alpha") && call.number("alpha") != 1)
    src = src * call.build.literal(call.value("alpha"), x.dtype());
  return index_add(x, call.axis("dim", x.rank()), call.tensor("index"), src);
}
Results index_copy(Call& call) {
  const Ref x = call.tensor("self");
  return apply(IndexPut{.axes = {call.axis("dim", x.rank())}},
               {x, cast(x.dtype(), call.tensor("source")), call.tensor("index")});
}
Results index_fill(Call& call) {
  const Ref x = call.tensor("self");
  const Ref value = operand(call.build, call.value("value"), x.dtype());
  return apply(IndexPut{.axes = {call.axis("dim", x.rank())}}, {x, value, call.tensor("index")});
}

/// A copy of self with a part written: the pure forms of x[...] = src.
TensorPtr fresh_copy(Call& call) { return call.build.tensor(call.tensor("self")); }
Results slice_scatter(Call& call) {
  const TensorPtr x = fresh_copy(call);
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const auto bounds = slice_bounds(call.build, call.find("start"), call.find("end"), x->shape()[at(axis)]);
  const TensorPtr part = sliced(call.build, x, axis, bounds.start, bounds.end, call.integer("step", 1));
  call.build.write(part, cast(x->dtype(), call.tensor("src")));
  return x;
}
Results select_scatter(Call& call) {
  const TensorPtr x = fresh_copy(call);
  const TensorPtr part = select(call.build, x, call.axis("dim", x->rank()), call.size("index"));
  call.build.write(part, cast(x->dtype(), call.tensor("src")));
  return x;
}

Results put(Call& call) {
  const Ref x = call.tensor("self"), places = call.tensor("index");
  const Dim count = numel(places.shape());
  IndexPut op{.axes = {0}};
  op.accumulate = call.flag("accumulate", false);
  const Ref values = reshape(cast(x.dtype(), call.tensor("source")), {count});
  return reshape(apply(op, {reshape(x, {numel(x.shape())}), values, reshape(places, {count})}), x.shape());
}

/// Slices joined into those of self that a vector of places names.
Results index_reduce(Call& call) {
  const Ref x = call.tensor("self"), source = cast(x.dtype(), call.tensor("source"));
  const std::int64_t axis = call.axis("dim", x.rank());
  Shape column(x.rank(), Dim(1));
  column[at(axis)] = source.shape()[at(axis)];
  const Ref places = expand(reshape(call.tensor("index"), column), source.shape());
  return apply(Scatter{.axis = axis,
                       .reduce = reduce_from(call.word("reduce", "")),
                       .include_self = call.flag("include_self", true)},
               {x, places, source});
}

/// x[indices] where the mask holds, else a number: out-of-range indices count only under the mask.
std::vector<Ref> masked_indices(Call& call, const Ref& mask, std::vector<std::int64_t>& axes) {
  const Indices i = indices_of(call, "indices");
  axes = i.axes;
  std::vector<Ref> out;
  for (const Ref& r : i.values) out.push_back(where(mask, r, 0));
  return out;
}
Results unsafe_masked_index(Call& call) {
  const Ref x = call.tensor("self"), mask = call.tensor("mask");
  std::vector<std::int64_t> axes;
  const auto places = masked_indices(call, mask, axes);
  if (axes.size() != x.rank()) throw unsupported("_unsafe_masked_index of some axes");
  std::vector<Ref> operands = {x};
  operands.insert(operands.end(), places.begin(), places.end());
  return where(mask, tenon::apply(IndexAt{.axes = axes}, operands),
               operand(call.build, call.value("fill"), x.dtype()));
}
Results unsafe_masked_index_put(Call& call) {
  const Ref x = call.tensor("self"), mask = call.tensor("mask");
  std::vector<std::int64_t> axes;
  const auto places = masked_indices(call, mask, axes);
  if (axes.size() != x.rank()) throw unsupported("_unsafe_masked_index_put_accumulate of some axes");
  std::vector<Ref> operands = {x, where(mask, cast(x.dtype(), call.tensor("values")), 0)};
  operands.insert(operands.end(), places.begin(), places.end());
  return tenon::apply(IndexPut{.axes = axes, .accumulate = true}, operands);
}

Results one_hot(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t classes = call.integer("num_classes", -1);
  const Dim count =
      classes < 0 ? call.build.data_size(amax(reshape(x, {numel(x.shape())}), {0}) + 1.0) : classes;
  return apply(OneHot{.classes = count}, {x});
}

constexpr AtenEntry index_table[] = {
    {"index", index},
    {"_unsafe_index", index},
    {"index_put", index_put},
    {"_index_put_impl", index_put},
    {"_unsafe_index_put", index_put},
    {"index_select", with_axes<index_select_op>},
    {"gather", gather_op},
    {"take_along_dim", take_along_dim},
    {"take", take},
    {"embedding", embedding},
    {"embedding_renorm", embedding_renorm, HalfPrecision::in_f32},
    {"scatter", with_axes<scatter>},
    {"scatter_add", with_axes<scatter_add>},
    {"scatter_reduce", with_axes<scatter_reduce>},
    {"index_add", with_axes<index_add_op>},
    {"index_copy", with_axes<index_copy>},
    {"index_fill", with_axes<index_fill>},
    {"slice_scatter", slice_scatter},
    {"select_scatter", select_scatter},
    {"masked_scatter", masked_scatter},
    {"put", put},
    {"index_reduce", with_axes<index_reduce>},
    {"_unsafe_masked_index", unsafe_masked_index},
    {"_unsafe_masked_index_put_accumulate", unsafe_masked_index_put},
    {"one_hot", one_hot},
};

}  // namespace

std::span<const AtenEntry> index_entries() { return index_table; }

}  // namespace tenon::converter
