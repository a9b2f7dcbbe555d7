#include "runtime/counted_sizes.h"

#include "ir/build.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/sort.h"
#include "kernels/function_ref.h"

namespace tenon {
namespace {

using Refs = std::vector<Ref>;

Ref upper_bound(const Ref& sorted, const Ref& values) {
  return apply(SearchSorted{.right = true}, {sorted, values});
}

// Whole numbers, and the place where each is first reached.
struct Counted {
  Ref until;   // running sums
  Ref number;  // 0, 1, ..., count - 1
  Ref first;   // the place where the running sum passes each number
};

Counted counted(const Ref& times, const Dim& count) {
  apply_all(CountUp{.count = count}, Refs{sum(times, {0})});
  const Ref until = cumsum(times, 0), number = iota(count, times.insertion_point());
  return {until, number, upper_bound(until, number)};
}

Ref flat(const Ref& x) { return reshape(x, {numel(x.shape())}); }
Ref as_number(const Ref& flags) { return cast(DType::i64, flags); }

// x with src at places that all differ.
Ref placed(const Ref& x, const Ref& places, const Ref& src) { return apply(Scatter{}, {x, places, src}); }

Refs parts(const NonZero& op, const Ref& x) {
  const InsertionPoint& point = x.insertion_point();
  const Ref flags = x.dtype() == DType::boolean ? x : not_equal(x, x.literal(0));
  const Ref places = counted(as_number(flat(flags)), op.count).first;
  if (x.rank() == 0) return {full({op.count, 0}, 0, DType::i64, point)};
  Refs coordinates(x.rank());
  Ref rest = places;
  for (std::size_t axis = x.rank(); axis-- > 0;) {
    const Ref size = dim_value(x.shape()[axis], rest);
    const Ref coordinate = axis == 0 ? rest : apply(Remainder{}, {rest, size});
    coordinates[axis] = reshape(coordinate, {op.count, 1});
    if (axis > 0) rest = apply(FloorDiv{}, {rest, size});
  }
  return {concat(coordinates, 1)};
}

Refs parts(const RepeatEach& op, const Ref& repeats) {
  const Ref times = cast(DType::i64, repeats);
  apply_all(Check{.message = "repeats must not be negative"}, Refs{all(times >= times.literal(0), {0})});
  return {counted(times, op.count).first};
}

// What so many steps make of a value. A step has its number (i64[1]), the value, and what it reads besides.
Ref repeated(const Dim& times, const Ref& start, const Refs& read,
             FunctionRef<Ref(const Ref& number, const Ref& value, const Refs& read)> step) {
  const InsertionPoint& point = start.insertion_point();
  std::vector<Value*> operands{point.region->literal(DType::boolean, 1), start.value()};
  for (const Ref& r : read) operands.push_back(r.value());
  Node* loop = point.region->insert_typed(Loop{.carried = 1, .limit = times}, operands, {}, 1, point.before,
                                          point.source);
  Region& body = loop->region();
  const InsertionPoint inside{&body, nullptr, point.source};
  const auto parameter = [&](const Type& type) { return Ref(body.add_parameter(type), inside); };
  const Ref number = parameter({DType::i64, {}}), value = parameter(start.type());
  Refs seen;
  for (const Ref& r : read) seen.push_back(parameter(r.type()));
  const Ref next = step(reshape(number, {1}), value, seen);
  body.add_result(body.literal(DType::boolean, 1));
  body.add_result(next.value());
  loop->add_outputs(loop->infer());
  return Ref(loop->output(0), point);
}

// Slices in ascending order, equal ones as they come: by their last elements first. Columns are [size,
// slices].
Ref sorted_places(const Ref& columns) {
  const Dim &size = columns.shape()[0], &slices = columns.shape()[1];
  if (size == 1) return apply_all(Sort{}, Refs{reshape(columns, {slices})})[1];
  const auto by_a_column = [&](const Ref& number, const Ref& order, const Refs& read) {
    const Ref column = index_select(read[0], 0, dim_value(size - 1, number) - number);
    const Ref places = apply_all(Sort{}, Refs{gather(reshape(column, {slices}), 0, order)})[1];
    return gather(order, 0, places);
  };
  return repeated(size, iota(slices, columns.insertion_point()), {columns}, by_a_column);
}

Refs parts(const Unique& op, const Ref& x) {
  if (is_complex(x.dtype())) return {};
  const Dim slices = x.shape()[0], size = numel(Shape(x.shape().begin() + 1, x.shape().end()));
  const Ref table = reshape(x.dtype() == DType::boolean ? cast(DType::u8, x) : x, {slices, size});
  const Ref columns = permute(table, {1, 0}), place = iota(slices, x.insertion_point());
  const Ref order = op.order == UniqueOrder::runs ? place : sorted_places(columns);
  const Ref before = gather(order, 0, maximum(place - 1, place.literal(0)));
  const Ref differs = not_equal(index_select(columns, 1, order), index_select(columns, 1, before));
  const Ref is_new = logical_or(equal(place, place.literal(0)), any(differs, {0}));
  const Counted kinds = counted(as_number(is_new), op.count);
  Ref first = gather(order, 0, kinds.first);
  Ref times = upper_bound(kinds.until, kinds.number + 1) - kinds.first;
  Ref kind = placed(zeros_like(place), order, kinds.until - 1);
  if (op.order != UniqueOrder::appearance) return {first, kind, times};
  const Refs by_place = apply_all(Sort{}, Refs{first});
  const Ref rank = placed(zeros_like(kinds.number), by_place[1], kinds.number);
  return {by_place[0], gather(rank, 0, kind), gather(times, 0, by_place[1])};
}

// Corners of boxes, and their areas: [n] each.
struct Boxes {
  Ref left, top, right, bottom, area;
  Refs all() const { return {left, top, right, bottom, area}; }
};

Boxes boxes_of(const Ref& corners) {
  const auto corner = [&](std::int64_t c) {
    return reshape(slice(corners, 1, Dim(c), Dim(c + 1)), {corners.shape()[0]});
  };
  Boxes b{corner(0), corner(1), corner(2), corner(3), {}};
  b.area = (b.right - b.left) * (b.bottom - b.top);
  return b;
}

Ref overlap(const Boxes& a, const Boxes& b) {
  const Ref zero = a.left.literal(0);
  const Ref width = maximum(zero, minimum(a.right, b.right) - maximum(a.left, b.left));
  const Ref height = maximum(zero, minimum(a.bottom, b.bottom) - maximum(a.top, b.top));
  const Ref both = width * height;
  return cast(DType::f64, both / (a.area + b.area - both));
}

// Which boxes stay, the best first: each step drops what the box of its number overlaps.
Ref kept_boxes(const Boxes& boxes, double threshold) {
  const Dim n = boxes.left.shape()[0];
  const auto without_overlaps = [&](const Ref& number, const Ref& kept, const Refs& read) {
    const Boxes all{read[0], read[1], read[2], read[3], read[4]};
    const auto at_step = [&](const Ref& values) { return gather(values, 0, number); };
    const Boxes one{at_step(all.left), at_step(all.top), at_step(all.right), at_step(all.bottom),
                    at_step(all.area)};
    const Ref share = overlap(one, all);
    const Ref is_later = iota(n, number.insertion_point()) > number;
    const Ref drops = logical_and(logical_and(at_step(kept), is_later), share > share.literal(threshold));
    return logical_and(kept, logical_not(drops));
  };
  return repeated(n, full({n}, 1, DType::boolean, boxes.left.insertion_point()), boxes.all(),
                  without_overlaps);
}

Refs parts(const SuppressOverlaps& op, const Ref& boxes, const Ref& scores) {
  const DType dtype = boxes.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Ref order = apply_all(Sort{.descending = true}, Refs{cast(dtype, scores)})[1];
  const Ref kept = kept_boxes(boxes_of(index_select(cast(dtype, boxes), 0, order)), op.threshold);
  return {gather(order, 0, counted(as_number(kept), op.count).first)};
}

// Empty: the node stays.
Refs parts_of(const Node& node, const Refs& in) {
  if (const auto* op = node.as<NonZero>()) return parts(*op, in[0]);
  if (const auto* op = node.as<RepeatEach>()) return parts(*op, in[0]);
  if (const auto* op = node.as<Unique>()) return parts(*op, in[0]);
  if (const auto* op = node.as<SuppressOverlaps>()) return parts(*op, in[0], in[1]);
  if (const auto* op = node.as<CountUp>()) return {iota(op->count, in[0].insertion_point())};
  return {};
}

}  // namespace

bool has_counted_size(const Op& op) {
  return op.is<NonZero>() || op.is<RepeatEach>() || op.is<Unique>() || op.is<SuppressOverlaps>() ||
         op.is<CountUp>();
}

void count_sizes(Region& body) {
  for (Node* node = body.nodes().empty() ? nullptr : body.nodes().front().get(); node;) {
    for (const auto& inner : node->regions()) count_sizes(*inner);
    Node* const next = body.next(node);
    const bool is_count = node->is<CountUp>();
    const InsertionPoint point{&body, is_count ? next : node, node->source};
    Refs in;
    for (Value* v : node->inputs()) in.emplace_back(v, point);
    const Refs results = parts_of(*node, in);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!node->output(i)->uses().empty()) replace_all_uses(node->output(i), results[i].value());
    if (!results.empty() && !is_count) body.erase(node);
    node = next;
  }
}

}  // namespace tenon
