#include "converter/aten/packed.h"

#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/control.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

Shape with_first(const Shape& first, const Shape& shape, std::size_t from) {
  Shape out = first;
  out.insert(out.end(), shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end());
  return out;
}

// The rows of [steps, batch, ...] where active[steps, batch].
Ref rows_where(Builder& build, const Ref& active, const Ref& padded) {
  const Dim count = numel(active.shape());
  const Ref places = true_places(build, reshape(active, {count}))[0];
  return index_select(reshape(padded, with_first({count}, padded.shape(), 2)), 0, places);
}

Ref column(const Ref& x) { return reshape(x, {x.shape()[0], Dim(1)}); }

Ref row_numbers(const Dim& count, const InsertionPoint& point) {
  return reshape(iota(count, point), {Dim(1), count});
}

Ref swap_first_axes(const Ref& x) { return transpose(x, 0, 1); }

void check(const Ref& holds, std::string message) {
  tenon::apply_all(Check{.message = std::move(message)}, std::array{holds});
}

/// Sequences of their own lengths as one tensor, padded to the longest.
Results pad_sequence(Call& call) {
  const auto sequences = call.tensors("sequences");
  const bool at_begin = call.word("padding_side", "right") == "left";
  const double padding = call.number("padding_value", 0);
  if (sequences.empty()) throw error("an empty list of sequences");
  Dim longest = sequences[0]->shape().at(0);
  for (const TensorPtr& t : sequences) longest = max(longest, t->shape().at(0));
  std::vector<Ref> rows;
  for (const TensorPtr& t : sequences) {
    const Ref x = call.build.read(t);
    const Shape missing = with_first({longest - x.shape()[0]}, x.shape(), 1);
    const Ref fill = expand(call.build.literal(padding, x.dtype()), missing);
    const Ref padded = at_begin ? concat(std::array{fill, x}, 0) : concat(std::array{x, fill}, 0);
    rows.push_back(reshape(padded, with_first({Dim(1), longest}, x.shape(), 1)));
  }
  const Ref all = concat(rows, 0);
  return call.flag("batch_first", false) ? all : swap_first_axes(all);
}

Results pack(Call& call) {
  Ref x = call.tensor("input");
  const Ref lengths = cast(DType::i64, call.tensor("lengths"));
  if (call.flag("batch_first", false)) x = swap_first_axes(x);
  const Dim steps = x.shape()[0], batch = x.shape()[1];
  const Dim last = batch - 1;
  check(all(slice(lengths, 0, 1, batch) <= slice(lengths, 0, 0, last), {0}),
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True");
  check(all(lengths > call.build.literal(std::int64_t{0}, DType::i64), {0}),
        "Length of all samples has to be greater than 0");
  check(all(lengths <= expand(call.build.size(steps), lengths.shape()), {0}),
        "a length is larger than the number of steps");
  const Ref active = column(iota(steps, call.build.insertion_point())) < reshape(lengths, {Dim(1), batch});
  const Ref longest = reshape(slice(lengths, 0, 0, 1), {});
  const Ref used = call.build.sized(CountUp{}, {longest})[0];
  // At the first step all sequences are there: said as a size, so that it is known.
  const Ref first = reshape(call.build.size(batch), {Dim(1)});
  const Ref others = slice(index_select(sum(cast(DType::i64, active), {1}), 0, used), 0, 1, used.shape()[0]);
  return std::vector{rows_where(call.build, active, x), concat(std::array{first, others}, 0)};
}

Results pad_packed(Call& call) {
  const Ref data = call.tensor("data"), sizes = call.tensor("batch_sizes");
  const Dim batch = call.build.data_size(reshape(slice(sizes, 0, 0, 1), {}));
  const PackedPlaces places(call.build, sizes, batch);
  const Dim steps = sizes.shape()[0], total = call.size("total_length", -1);
  Ref out = places.padded(data);
  Shape mask = places.active().shape();
  mask.resize(out.rank(), Dim(1));
  const double padding = call.number("padding_value", 0);
  out = where(reshape(places.active(), mask), out, padding);
  if (total != Dim(-1) && total != steps) {
    Shape pads(2 * out.rank(), Dim(0));
    pads[out.rank()] = total - steps;
    out = pad(out, pads, padding);
  }
  if (call.flag("batch_first", false)) out = swap_first_axes(out);
  return std::vector{out, sum(cast(DType::i64, places.active()), {0})};
}

constexpr AtenEntry packed_table[] = {
    {"pad_sequence", pad_sequence},
    {"_pack_padded_sequence", pack},
    {"_pad_packed_sequence", pad_packed},
};

}  // namespace

PackedPlaces::PackedPlaces(Builder& build, const Ref& sizes, const Dim& batch)
    : build_(build),
      active_(row_numbers(batch, build.insertion_point()) < column(sizes)),
      rows_(where(active_, column(cumsum(sizes, 0) - sizes) + row_numbers(batch, build.insertion_point()),
                  0)) {}

Ref PackedPlaces::padded(const Ref& data) const {
  const Dim count = numel(rows_.shape());
  return reshape(index_select(data, 0, reshape(rows_, {count})), with_first(rows_.shape(), data.shape(), 1));
}

Ref PackedPlaces::packed(const Ref& padded) const { return rows_where(build_, active_, padded); }

std::span<const AtenEntry> packed_entries() { return packed_table; }

}  // namespace tenon::converter
