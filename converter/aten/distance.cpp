// Distances between vectors.
#include "base/error.h"
#include "compose/p_norm.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

std::int64_t last_axis(const Ref& x) { return static_cast<std::int64_t>(x.rank()) - 1; }

/// By products where PyTorch does so.
Results cdist(Call& call) {
  enum Mode { if_there_are_many, always, never };
  constexpr std::int64_t many = 25;
  const Ref a = call.tensor("x1"), b = call.tensor("x2");
  const double p = call.number("p", 2);
  const std::int64_t mode = call.integer("compute_mode", if_there_are_many);
  const auto has_many = [&](const Ref& x) {
    const Dim& rows = x.shape()[x.rank() - 2];
    return rows.is_known() && rows.value() > many;
  };
  const bool multiplies = mode == always || (mode == if_there_are_many && (has_many(a) || has_many(b)));
  return p == 2 && multiplies ? distances_by_products(a, b) : distances(a, b, p);
}

/// Of each row of a matrix to those behind it.
Results pdist(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() != 2 || !x.shape()[0].is_known()) throw unsupported("pdist of {}", x.type().str());
  const std::int64_t n = x.shape()[0].value();
  tenon::Tensor first = tenon::Tensor::empty(DType::i64, {n * (n - 1) / 2});
  tenon::Tensor second = tenon::Tensor::empty(DType::i64, first.shape());
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j, ++k) {
      first.mutable_data<std::int64_t>()[k] = i;
      second.mutable_data<std::int64_t>()[k] = j;
    }
  const auto rows = [&](const tenon::Tensor& places) {
    return index_select(x, 0, call.build.ref(call.build.graph().add_weight("const.pairs", places)));
  };
  return p_norm(rows(first) - rows(second), call.number("p", 2), {1}, false);
}

Results pairwise_distance(Call& call) {
  const std::array given = {call.value("x1"), call.value("x2")};
  const auto x = promoted(call.build, given);
  const Ref d = in_floats(x[0] - x[1]) + call.number("eps", 1e-6);
  return p_norm(d, call.number("p", 2), {last_axis(d)}, call.flag("keepdim", false));
}

Results dist(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given, true);
  const Ref d = x[0] - x[1];
  return p_norm(reshape(d, {numel(d.shape())}), call.number("p", 2), {0}, false);
}

/// Slices along an axis whose norm exceeds maxnorm are shrunk to it.
Results renorm(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", x.rank());
  const double limit = call.number("maxnorm");
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i <= last_axis(x); ++i)
    if (i != axis) others.push_back(i);
  const Ref norm = p_norm(x, call.number("p"), others, true);
  const Ref factor = norm.literal(limit) / (norm + 1e-7);
  return x * where(norm > norm.literal(limit), factor, 1);
}

constexpr AtenEntry distance_table[] = {
    {"cdist", cdist, HalfPrecision::in_f32},
    {"_cdist_forward", cdist, HalfPrecision::in_f32},
    {"pdist", pdist, HalfPrecision::in_f32},
    {"_pdist_forward", pdist, HalfPrecision::in_f32},
    {"pairwise_distance", pairwise_distance, HalfPrecision::in_f32},
    {"dist", dist, HalfPrecision::in_f32},
    {"renorm", renorm, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> distance_entries() { return distance_table; }

}  // namespace tenon::converter
