// Operators whose result is as large as the data says.
#include "ir/ops/data_size.h"

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

Results nonzero(Call& call) {
  const Ref x = call.tensor(call.find("self") ? "self" : "input");
  if (call.has("as_tuple") && call.flag("as_tuple", false)) throw unsupported("nonzero as a tuple");
  return call.build.sized(NonZero{}, {x})[0];
}

Results nonzero_numpy(Call& call) { return list_of_places(call.build, call.tensor("self")); }

Results masked_select(Call& call) {
  const Ref x = call.tensor("self"), mask = call.tensor("mask");
  const Shape shape = broadcast(x.shape(), mask.shape());
  const Dim count = numel(shape);
  const Ref places = true_places(call.build, reshape(expand(mask, shape), {count}))[0];
  return index_select(reshape(expand(x, shape), {count}), 0, places);
}

/// The classes of the slices of x along an axis, as the three results of unique.
struct Classes {
  Ref values, of, counts;
};
Classes classes(Call& call, const Ref& x, std::int64_t axis, UniqueOrder order) {
  Shape rest = without_axis(x.shape(), axis);
  std::vector<std::int64_t> axes = {axis};
  for (std::int64_t a = 0; a < static_cast<std::int64_t>(x.rank()); ++a)
    if (a != axis) axes.push_back(a);
  const auto found = call.build.sized(Unique{.order = order}, {permute(x, axes)});
  return {index_select(x, axis, found[0]), found[1], found[2]};
}

/// PyTorch gives an empty tensor for what was not asked for.
Results unique_results(Call& call, const Classes& c, bool inverse, bool counts) {
  const auto none = [&] { return full({Dim(0)}, 0, DType::i64, call.build.insertion_point()); };
  return std::vector<Ref>{c.values, inverse ? c.of : none(), counts ? c.counts : none()};
}

Ref flat(const Ref& x) { return reshape(x, {numel(x.shape())}); }

Results unique(Call& call) {
  const Ref x = call.tensor("self");
  call.ignore({"sorted"});
  Classes c = classes(call, flat(x), 0, UniqueOrder::sorted);
  c.of = reshape(c.of, x.shape());
  return unique_results(call, c, call.flag("return_inverse", false), call.flag("return_counts", false));
}

Results unique_dim(Call& call) {
  const Ref x = call.tensor("self");
  call.ignore({"sorted"});
  const Classes c = classes(call, x, call.axis("dim", x.rank()), UniqueOrder::sorted);
  return unique_results(call, c, call.flag("return_inverse", false), call.flag("return_counts", false));
}

Results unique_consecutive(Call& call) {
  const Ref x = call.tensor("self");
  const bool whole = !call.has("dim");
  Classes c = whole ? classes(call, flat(x), 0, UniqueOrder::runs)
                    : classes(call, x, call.axis("dim", x.rank()), UniqueOrder::runs);
  if (whole) c.of = reshape(c.of, x.shape());
  return unique_results(call, c, call.flag("return_inverse", false), call.flag("return_counts", false));
}

constexpr AtenEntry data_size_table[] = {
    {"nonzero", nonzero},
    {"argwhere", nonzero},
    {"nonzero_numpy", nonzero_numpy},
    {"masked_select", masked_select},
    {"_unique2", unique},
    {"unique_dim", unique_dim},
    {"unique_consecutive", unique_consecutive},
};

}  // namespace

std::span<const AtenEntry> data_size_entries() { return data_size_table; }

}  // namespace tenon::converter
