// Operators whose results are as large as the data says.
#include "ir/ops/data_size.h"

#include <array>
#include <limits>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

Operands nonzero(Call& call) {
  const Ref x = call.tensor(0);
  if (x.rank() == 0) throw unsupported("the places in a rank-0 tensor");
  return {permute(call.build.sized(NonZero{}, {x})[0], {1, 0})};
}

/// The slices whose condition holds.
Operands compress(Call& call) {
  Ref x = call.tensor(0);
  if (!call.has("axis")) x = reshape(x, {numel(x.shape())});
  const Ref condition = call.tensor(1);
  check_rank("condition", condition.type(), 1);
  return {index_select(x, call.axis(x.rank(), 0), true_places(call.build, condition)[0])};
}

Operands unique(Call& call) {
  Ref x = call.tensor(0);
  if (!call.has("axis")) x = reshape(x, {numel(x.shape())});
  const std::int64_t axis = call.axis(x.rank(), 0);
  Axes order = {axis};
  for (std::int64_t a = 0; a < static_cast<std::int64_t>(x.rank()); ++a)
    if (a != axis) order.push_back(a);
  const bool sorted = call.integer("sorted", 1) != 0;
  const auto found = call.build.sized(Unique{.order = sorted ? UniqueOrder::sorted : UniqueOrder::appearance},
                                      {permute(x, order)});
  return {index_select(x, axis, found[0]), found[0], found[1], found[2]};
}

/// In the order of their first appearance.
Operands unique_of_microsoft(Call& call) {
  const Ref x = call.tensor(0);
  check_rank("x", x.type(), 1);
  const auto found = call.build.sized(Unique{.order = UniqueOrder::appearance}, {x});
  return {index_select(x, 0, found[0]), found[1], found[2]};
}

/// Boxes as their corners, the smaller ones first.
Ref corners(const Ref& boxes, bool by_centre) {
  const auto column = [&](std::int64_t i) { return slice(boxes, 1, i, i + 1); };
  const std::array ends = {by_centre ? column(0) - column(2) * 0.5 : minimum(column(0), column(2)),
                           by_centre ? column(1) - column(3) * 0.5 : minimum(column(1), column(3)),
                           by_centre ? column(0) + column(2) * 0.5 : maximum(column(0), column(2)),
                           by_centre ? column(1) + column(3) * 0.5 : maximum(column(1), column(3))};
  return concat(ends, 1);
}

/// Rows of batch, class and box, of each class of each batch the best boxes first.
Operands non_max_suppression(Call& call) {
  const Ref boxes = call.tensor(0), scores = call.tensor(1);
  const Dim &batches = boxes.shape()[0], &classes = scores.shape()[1], &count = boxes.shape()[1];
  if (!batches.is_known() || !classes.is_known())
    throw unsupported("{} batches of {} classes", batches.str(), classes.str());
  const std::int64_t most = call.has(2) ? call.integer(2) : 0;
  const double threshold = call.has(3) ? call.number(3) : 0;
  const bool by_centre = call.integer("center_point_box", 0) != 0;
  std::vector<Ref> rows = {full({Dim(0), Dim(3)}, 0, DType::i64, call.build.insertion_point())};
  for (std::int64_t b = 0; b < batches.value() && most > 0; ++b)
    for (std::int64_t c = 0; c < classes.value(); ++c) {
      Ref box = corners(reshape(slice(boxes, 0, b, b + 1), {count, Dim(4)}), by_centre);
      Ref score = reshape(slice(slice(scores, 0, b, b + 1), 1, c, c + 1), {count});
      Ref places;
      if (call.has(4)) {
        places = true_places(call.build, score > score.literal(call.number(4)))[0];
        box = index_select(box, 0, places);
        score = index_select(score, 0, places);
      }
      Ref kept = call.build.sized(SuppressOverlaps{.threshold = threshold}, {box, score})[0];
      kept = slice(kept, 0, 0, min(kept.shape()[0], Dim(most)));
      if (places) kept = index_select(places, 0, kept);
      const Shape column = {kept.shape()[0], Dim(1)};
      const auto number = [&](std::int64_t n) {
        return full(column, static_cast<double>(n), DType::i64, call.build.insertion_point());
      };
      rows.push_back(concat(std::array{number(b), number(c), reshape(kept, column)}, 1));
    }
  return {concat(rows, 0)};
}

}  // namespace

std::span<const OnnxEntry> data_size_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Compress", compress},
      OnnxEntry{"NonMaxSuppression", non_max_suppression},
      OnnxEntry{"NonZero", nonzero},
      OnnxEntry{"Unique", unique},
      OnnxEntry{"com.microsoft.Unique", unique_of_microsoft},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
