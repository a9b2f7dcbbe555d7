// Counts of values in bins, and reductions over segments.
#include <limits>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/reduce.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

Ref flat(const Ref& x) { return reshape(x, {numel(x.shape())}); }

/// Each bin's sum of weights; `inside` says which elements count.
Ref counted(const Ref& bin, const Ref& inside, const Ref& weight, const Dim& bins) {
  const Ref zero = full({bins}, 0, weight.dtype(), bin.insertion_point());
  return index_add(zero, 0, where(inside, bin, 0), where(inside, weight, 0));
}

Results histc(Call& call) {
  const Ref x = flat(call.tensor("self"));
  const std::int64_t bins = call.integer("bins", 100);
  Ref low = x.literal(call.number("min", 0)), high = x.literal(call.number("max", 0));
  if (call.number("min", 0) == call.number("max", 0)) {
    if (numel(x.shape()) == Dim(0)) return full({Dim(bins)}, 0, x.dtype(), call.build.insertion_point());
    low = amin(x, {0});
    high = amax(x, {0});
  }
  const Ref same = equal(low, high);
  low = where(same, low - 1.0, low);
  high = where(same, high + 1.0, high);
  const Ref bin = cast(DType::i32, (x - low) * static_cast<double>(bins) / (high - low));
  const Ref inside = logical_and(x >= low, x <= high);
  const Ref place = minimum(bin, bin.literal(static_cast<double>(bins - 1)));
  const auto numbers = [&](Shape shape, double value) {
    return full(std::move(shape), value, DType::i64, call.build.insertion_point());
  };
  // One more bin takes what lies outside.
  const Ref counts = scatter_sum(numbers({Dim(bins + 1)}, 0), 0,
                                 where(inside, place, static_cast<double>(bins)), numbers(x.shape(), 1));
  return cast(x.dtype(), slice(counts, 0, Dim(0), Dim(bins)));
}

/// The bins of one variable: their edges, ascending.
struct Bins {
  Ref edges;
  Dim count() const { return edges.shape()[0] - 1; }

  /// Evenly between two numbers of a rank-0 tensor's dtype.
  static Bins even(Ref low, Ref high, std::int64_t count) {
    const Ref same = equal(low, high);
    low = where(same, low - 0.5, low);
    high = where(same, high + 0.5, high);
    const Ref i = iota(Dim(count + 1), low.insertion_point(), low.dtype());
    const Ref step = (high - low) / static_cast<double>(count);
    const Ref from_low = low + step * i, from_high = high - step * (static_cast<double>(count) - i);
    return {where(i < i.literal(static_cast<double>((count + 1) / 2)), from_low, from_high)};
  }

  Ref low() const { return slice(edges, 0, Dim(0), Dim(1)); }
  Ref high() const { return slice(edges, 0, count(), count() + 1); }
  Ref holds(const Ref& x) const { return logical_and(x >= low(), x <= high()); }
  /// The number of each element's bin; the last edge belongs to the last one.
  Ref of(const Ref& x) const {
    const Ref behind = apply(SearchSorted{.right = true}, {edges, x}) - 1.0;
    return minimum(behind, dim_value(count() - 1, behind));
  }
  Ref widths() const { return slice(edges, 0, Dim(1), count() + 1) - slice(edges, 0, Dim(0), count()); }
};

/// The bins of each column of x[count, variables].
std::vector<Bins> bins_of(Call& call, const Ref& x) {
  const Dim variables = x.shape()[1];
  if (!variables.is_known()) throw unsupported("a histogram of {} variables", variables.str());
  const auto columns = static_cast<std::size_t>(variables.value());
  const AbstractValue given = call.value("bins");
  const auto* items = items_of(given);
  if (items && items->size() != columns)
    throw error("{} numbers of bins for {} variables", items->size(), columns);
  std::vector<AbstractValue> range;
  if (call.has("range")) range = *items_of(call.value("range"));
  if (!range.empty() && range.size() != 2 * columns) throw error("a range of {} numbers", range.size());
  std::vector<Bins> out;
  for (std::size_t k = 0; k < columns; ++k) {
    const AbstractValue& bins = items ? (*items)[k] : given;
    if (const auto* edges = bins.get<TensorPtr>()) {
      out.push_back({cast(x.dtype(), call.build.read(*edges))});
      continue;
    }
    const auto* count = bins.get<Dim>();
    if (!count || !count->is_known() || count->value() < 1)
      throw unsupported("a number of bins that is not known");
    Ref low = x.literal(0), high = x.literal(1);
    if (!range.empty()) {
      low = operand(call.build, range[2 * k], x.dtype());
      high = operand(call.build, range[2 * k + 1], x.dtype());
    } else if (x.shape()[0] != Dim(0)) {
      const Ref column = slice(x, 1, Dim(k), Dim(k + 1));
      low = amin(column, {0, 1});
      high = amax(column, {0, 1});
    }
    out.push_back(Bins::even(low, high, count->value()));
  }
  return out;
}

/// Counts of the rows of x in the cells of the bins.
Ref histogram_of(Call& call, const Ref& x, const std::vector<Bins>& bins) {
  const Dim rows = x.shape()[0];
  const Ref given = call.optional_tensor("weight");
  const Ref weight = given ? cast(x.dtype(), flat(given)) : full({rows}, 1, x.dtype(), x.insertion_point());
  Ref cell, inside;
  Shape shape;
  for (std::size_t k = 0; k < bins.size(); ++k) {
    const Ref column = reshape(slice(x, 1, Dim(k), Dim(k + 1)), {rows});
    const Ref holds = bins[k].holds(column), bin = bins[k].of(column);
    inside = k == 0 ? holds : logical_and(inside, holds);
    cell = k == 0 ? bin : cell * dim_value(bins[k].count(), bin) + bin;
    shape.push_back(bins[k].count());
  }
  Ref y = reshape(counted(cell, inside, weight, numel(shape)), shape);
  if (!call.flag("density", false)) return y;
  std::vector<std::int64_t> axes;
  for (std::size_t k = 0; k < bins.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
  y = y / sum(y, axes);
  for (std::size_t k = 0; k < bins.size(); ++k) {
    Shape along(bins.size(), Dim(1));
    along[k] = bins[k].count();
    y = y / reshape(bins[k].widths(), along);
  }
  return y;
}

Results histogram(Call& call) {
  const Ref x = flat(call.tensor("self"));
  const Ref column = reshape(x, {x.shape()[0], Dim(1)});
  const auto bins = bins_of(call, column);
  return std::vector{histogram_of(call, column, bins), bins[0].edges};
}

Ref rows_of(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() < 2) throw error("a histogram over the last axis of {}", x.type().str());
  return reshape(x, {numel(Shape(x.shape().begin(), x.shape().end() - 1)), x.shape().back()});
}
AbstractValue edges_of(Call& call, const std::vector<Bins>& bins) {
  std::vector<AbstractValue> edges;
  for (const Bins& b : bins) edges.emplace_back(call.build.tensor(b.edges));
  return list_of(std::move(edges));
}
Results histogramdd(Call& call) {
  const Ref x = rows_of(call);
  const auto bins = bins_of(call, x);
  return Results::many({AbstractValue(call.build.tensor(histogram_of(call, x, bins))), edges_of(call, bins)});
}
/// The parts that the exporter writes histogramdd as.
Results histogramdd_edges(Call& call) {
  call.ignore({"weight", "density"});
  return edges_of(call, bins_of(call, rows_of(call)));
}
Results histogramdd_counts(Call& call) {
  const Ref x = rows_of(call);
  return histogram_of(call, x, bins_of(call, x));
}

/// [B, S] begins and ends of the segments, of lengths or of S + 1 offsets along the last axis.
struct Segments {
  Ref begin, end;

  Segments(Call& call) {
    const auto rows = [](const Ref& x) {
      const Dim last = x.shape().back();
      return cast(DType::i64, reshape(x, {floor_div(numel(x.shape()), last), last}));
    };
    if (call.has("lengths")) {
      const Ref lengths = rows(call.tensor("lengths"));
      end = cumsum(lengths, 1);
      begin = end - lengths;
    } else if (call.has("offsets")) {
      const Ref offsets = rows(call.tensor("offsets"));
      const Dim count = offsets.shape()[1];
      begin = slice(offsets, 1, Dim(0), count - 1);
      end = slice(offsets, 1, Dim(1), count);
    } else {
      throw unsupported("segment_reduce without lengths or offsets");
    }
  }
};

/// data[B, N, M] joined to [B, S, M], segment by segment, from `start` on. What is in no segment goes to one
/// behind the last.
Ref joined(const Segments& s, const Ref& data, ScatterReduce reduce, double start) {
  const auto shape = data.shape();
  const Dim count = s.end.shape()[1];
  const Ref place = expand(iota(shape[1], data.insertion_point()), {shape[0], shape[1]});
  const Ref segment = apply(SearchSorted{.right = true}, {s.end, place});
  const Ref first = slice(s.begin, 1, Dim(0), Dim(1));
  const Ref inside = where(place < first, dim_value(count, segment), segment);
  const Ref target = full({shape[0], count + 1, shape[2]}, start, data.dtype(), data.insertion_point());
  const Ref rows = expand(reshape(inside, {shape[0], shape[1], Dim(1)}), shape);
  return slice(apply(Scatter{.axis = 1, .reduce = reduce}, {target, rows, data}), 1, Dim(0), count);
}

Results segment_reduce(Call& call) {
  call.ignore({"unsafe"});
  if (call.has("indices")) throw unsupported("segment_reduce by indices").hint("give lengths or offsets");
  const Ref x = call.tensor("data");
  const auto axis = static_cast<std::size_t>(call.axis("axis", x.rank(), 0));
  const Segments s(call);
  const Shape& all = x.shape();
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(axis);
  const Ref data = reshape(x, {numel(Shape(all.begin(), at)), *at, numel(Shape(at + 1, all.end()))});
  const std::string reduce = call.word("reduce", "sum");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto initial = [&](double otherwise) { return x.literal(call.number("initial", otherwise)); };
  Ref y;
  if (reduce == "sum") {
    y = joined(s, data, ScatterReduce::sum, 0) + initial(0);
  } else if (reduce == "mean") {
    const Ref lengths =
        cast(x.dtype(), reshape(s.end - s.begin, {data.shape()[0], s.end.shape()[1], Dim(1)}));
    const Ref total = joined(s, data, ScatterReduce::sum, 0) + initial(0);
    const Ref empty = initial(std::numeric_limits<double>::quiet_NaN());
    y = where(equal(lengths, lengths.literal(0)), empty, total / maximum(lengths, lengths.literal(1)));
  } else if (reduce == "max") {
    y = maximum(joined(s, data, ScatterReduce::amax, -infinity), initial(-infinity));
  } else if (reduce == "min") {
    y = minimum(joined(s, data, ScatterReduce::amin, infinity), initial(infinity));
  } else if (reduce == "prod") {
    y = joined(s, data, ScatterReduce::prod, 1) * initial(1);
  } else {
    throw unsupported("segment_reduce with reduce='{}'", reduce);
  }
  Shape shape(all.begin(), at);
  shape.push_back(s.begin.shape()[1]);
  shape.insert(shape.end(), at + 1, all.end());
  return reshape(y, shape);
}

constexpr AtenEntry histogram_table[] = {
    {"segment_reduce", segment_reduce, HalfPrecision::in_f32},
    {"histc", histc},
    {"histogram", histogram},
    {"histogramdd", histogramdd},
    {"_histogramdd_bin_edges", histogramdd_edges},
    {"_histogramdd_from_bin_cts", histogramdd_counts},
    {"_histogramdd_from_bin_tensors", histogramdd_counts},
};

}  // namespace

std::span<const AtenEntry> histogram_entries() { return histogram_table; }

}  // namespace tenon::converter
