// Reading and writing at places that a tensor names.
#include "ir/ops/index.h"

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "converter/constants.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/logic.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

bool is_mask(const TensorPtr& t) { return is_bool(t->dtype()) || t->dtype() == DType::u8; }

struct Indices {
  std::vector<std::int64_t> axes;
  std::vector<Ref> values;
};

/// Where a mask is true: one vector of places for each axis.
std::vector<tenon::Tensor> places_of(const tenon::Tensor& mask) {
  std::vector<std::vector<std::int64_t>> found(mask.rank());
  for_each_index(mask.shape(), [&](std::span<const std::int64_t> i) {
    if (mask.get_int(i) == 0) return;
    for (std::size_t axis = 0; axis < found.size(); ++axis) found[axis].push_back(i[axis]);
  });
  std::vector<tenon::Tensor> out;
  for (const auto& places : found) {
    tenon::Tensor t = tenon::Tensor::empty(DType::i64, {static_cast<std::int64_t>(places.size())});
    std::copy(places.begin(), places.end(), t.mutable_data<std::int64_t>());
    out.push_back(std::move(t));
  }
  return out;
}

/// The entries of x[i, :, j]: None leaves an axis alone.
Indices indices_of(Call& call, std::string_view argument) {
  const Datum list = call.datum(argument);
  Indices out;
  std::int64_t axis = 0;
  for (const Datum& d : *items_of(list)) {
    if (const auto* t = d.get<TensorPtr>()) {
      if (is_mask(*t)) {
        const auto mask = constant_value(call.build.read(*t).value());
        if (mask) {
          for (const tenon::Tensor& places : places_of(*mask)) {
            out.axes.push_back(axis++);
            out.values.push_back(call.build.ref(call.build.graph().add_weight("const.places", places)));
          }
          continue;
        }
        throw unsupported("indexing by a mask: the size of the result depends on the data of a tensor")
            .hint("multiply by the mask, or use torch.where with three arguments");
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

/// x[mask] = value, for a value that is one number.
std::optional<Ref> put_by_mask(Call& call, const Ref& x, const Ref& value) {
  const Datum list = call.datum("indices");
  const auto& items = *items_of(list);
  if (items.size() != 1 || !items[0].is_tensor() || !is_mask(*items[0].get<TensorPtr>())) return std::nullopt;
  if (numel(value.shape()) != Dim(1))
    throw unsupported("an assignment of several values under a mask").hint("use torch.where");
  Ref mask = cast(DType::boolean, call.build.read(*items[0].get<TensorPtr>()));
  Shape shape = mask.shape();
  shape.resize(x.rank(), Dim(1));
  mask = reshape(mask, shape);
  return where(mask, reshape(value, {}), x);
}

Results index_put(Call& call) {
  const Ref x = call.tensor("self");
  const Ref value = cast(x.dtype(), call.tensor("values"));
  IndexPut op;
  op.accumulate = call.flag("accumulate", false);
  call.ignore({"unsafe"});
  if (!op.accumulate) {
    if (auto masked = put_by_mask(call, x, value)) return *masked;
  }
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
  return gather(x, call.axis("dim", x.rank()), call.tensor("index"));
}
Results take_along_dim(Call& call) {
  const Ref x = call.tensor("self");
  const Ref places = call.tensor("indices");
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

Reduce reduce_from(const std::string& word) {
  if (word == "add" || word == "sum") return Reduce::sum;
  if (word == "multiply" || word == "prod") return Reduce::prod;
  if (word == "amax") return Reduce::amax;
  if (word == "amin") return Reduce::amin;
  if (word == "mean") return Reduce::mean;
  throw unsupported("scatter with reduce='{}'", word);
}

Results scattered(Call& call, Reduce reduce, bool include_self) {
  const Ref x = call.tensor("self");
  const Ref places = call.tensor("index");
  const Datum& given = call.datum(call.find("src") ? "src" : "value");
  Ref src = operand(call.build, given, x.dtype());
  src = given.is_tensor() && src.rank() == places.rank() ? covered(src, places) : expand(src, places.shape());
  return apply(Scatter{.axis = call.axis("dim", x.rank()), .reduce = reduce, .include_self = include_self},
               {x, places, src});
}
Results scatter(Call& call) {
  return scattered(call, call.has("reduce") ? reduce_from(call.word("reduce", "")) : Reduce::none, true);
}
Results scatter_add(Call& call) { return scattered(call, Reduce::sum, true); }
Results scatter_reduce(Call& call) {
  return scattered(call, reduce_from(call.word("reduce", "")), call.flag("include_self", true));
}

Results index_add_op(Call& call) {
  const Ref x = call.tensor("self");
  Ref src = cast(x.dtype(), call.tensor("source"));
  if (call.has("alpha") && call.number("alpha") != 1)
    src = src * call.build.literal(call.datum("alpha"), x.dtype());
  return index_add(x, call.axis("dim", x.rank()), call.tensor("index"), src);
}
Results index_copy(Call& call) {
  const Ref x = call.tensor("self");
  return apply(IndexPut{.axes = {call.axis("dim", x.rank())}},
               {x, cast(x.dtype(), call.tensor("source")), call.tensor("index")});
}
Results index_fill(Call& call) {
  const Ref x = call.tensor("self");
  const Ref value = operand(call.build, call.datum("value"), x.dtype());
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

Results one_hot(Call& call) {
  const std::int64_t classes = call.integer("num_classes", -1);
  if (classes < 0) throw unsupported("one_hot without a number of classes").hint("give num_classes");
  return apply(OneHot{.classes = Dim(classes)}, {call.tensor("self")});
}

Results depends_on_data(Call&) {
  throw unsupported("the size of the result depends on the data of a tensor")
      .hint("use torch.where with three arguments, masked_fill or topk");
}

constexpr Entry entries[] = {
    {"index", index},
    {"_unsafe_index", index},
    {"index_put", index_put},
    {"_index_put_impl", index_put},
    {"_unsafe_index_put", index_put},
    {"index_select", index_select_op},
    {"gather", gather_op},
    {"take_along_dim", take_along_dim},
    {"take", take},
    {"embedding", embedding},
    {"scatter", scatter},
    {"scatter_add", scatter_add},
    {"scatter_reduce", scatter_reduce},
    {"index_add", index_add_op},
    {"index_copy", index_copy},
    {"index_fill", index_fill},
    {"slice_scatter", slice_scatter},
    {"select_scatter", select_scatter},
    {"one_hot", one_hot},
    {"nonzero", depends_on_data},
    {"nonzero_numpy", depends_on_data},
    {"argwhere", depends_on_data},
    {"masked_select", depends_on_data},
    {"_unique2", depends_on_data},
    {"unique_consecutive", depends_on_data},
};

}  // namespace

std::span<const Entry> index_entries() { return entries; }

}  // namespace tenon::converter
