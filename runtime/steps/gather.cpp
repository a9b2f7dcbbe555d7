// index_select: rows copied from the places that indices name.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ir/ops/index.h"
#include "runtime/steps/makers.h"

namespace tenon {
namespace {

// x as [outer, size, row], the result as [outer, count, row]; strides in bytes.
struct Rows {
  std::int64_t outer = 0, size = 0, count = 0;
  std::int64_t x_outer = 0, x_step = 0, out_outer = 0, out_step = 0;
  std::size_t row_bytes = 0;
};

template <class T>
class GatherStep : public Step {
 public:
  explicit GatherStep(const Rows& rows) : rows_(rows) {}

  void run(const Frame& frame) const override {
    const T* index = frame.at<const T>(indices);
    const auto* from = frame.at<const std::byte>(x);
    auto* to = frame.at<std::byte>(out);
    const auto inside = [&](T i) { return i >= 0 && i < static_cast<T>(rows_.size); };
    const T* wrong = std::find_if_not(index, index + rows_.count, inside);
    if (wrong != index + rows_.count)
      throw error("index {} is outside of [0, {})", *wrong, rows_.size).at(info.source.str());
    constexpr std::int64_t chunk_bytes = 64 << 10;
    const std::int64_t total = rows_.outer * rows_.count;
    const auto row_bytes = static_cast<std::int64_t>(rows_.row_bytes);
    const std::int64_t per_chunk = std::max<std::int64_t>(1, chunk_bytes / std::max<std::int64_t>(row_bytes, 1));
    frame.pool.parallel_for((total + per_chunk - 1) / per_chunk, [&](long chunk, int) {
      const std::int64_t end = std::min(total, (chunk + 1) * per_chunk);
      for (std::int64_t i = chunk * per_chunk; i < end; ++i) {
        const std::int64_t o = i / rows_.count;
        const std::int64_t n = i % rows_.count;
        std::memcpy(to + o * rows_.out_outer + n * rows_.out_step,
                    from + o * rows_.x_outer + static_cast<std::int64_t>(index[n]) * rows_.x_step, rows_.row_bytes);
      }
    });
  }

  Address x, indices, out;

 private:
  Rows rows_;
};

// Strides of the tensor seen as [outer, middle, row] with contiguous rows, or nullopt.
std::optional<Index> as_three(const Tensor& t, const Index& sizes) {
  Index strides;
  if (!t.can_view_as(sizes, &strides) || (sizes[2] > 1 && strides[2] != 1)) return std::nullopt;
  return strides;
}

template <class T>
void emit(Planner& planner, const Node& node, const Rows& rows, const Tensor& x, const Tensor& indices,
          const Tensor& out) {
  auto step = std::make_unique<GatherStep<T>>(rows);
  step->x = planner.address(x);
  step->indices = planner.address(indices);
  step->out = planner.address(out);
  step->info.kernel = "gather";
  planner.emit(std::move(step), &node, {x, indices}, {out});
}

}  // namespace

bool make_gather(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<IndexSelect>();
  const Value* index = op ? node.input(1) : nullptr;
  if (!op || (index->dtype() != DType::i64 && index->dtype() != DType::i32)) return false;
  const Index sizes = eval(node.input(0)->shape(), {});
  const auto axis = static_cast<std::ptrdiff_t>(op->axis);
  Rows rows;
  rows.outer = numel(std::span(sizes).first(static_cast<std::size_t>(axis)));
  rows.size = sizes[static_cast<std::size_t>(axis)];
  rows.count = numel(index->shape()).value();
  const std::int64_t row = numel(std::span(sizes).subspan(static_cast<std::size_t>(axis) + 1));
  const Index x_view{rows.outer, rows.size, row}, out_view{rows.outer, rows.count, row};
  if (rows.outer * rows.count * row == 0) return false;

  Tensor x = planner.places().at(node.input(0));
  if (!as_three(x, x_view)) x = planner.dense(node.input(0));
  const Tensor indices = planner.dense(index);
  const Tensor out = planner.places().place(node.output(), row_major(node.output()->rank()), [&](const Tensor& t) {
    return as_three(t, out_view).has_value();
  });
  const Index x_strides = *as_three(x, x_view), out_strides = *as_three(out, out_view);
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  rows.x_outer = x_strides[0] * element;
  rows.x_step = x_strides[1] * element;
  rows.out_outer = out_strides[0] * element;
  rows.out_step = out_strides[1] * element;
  rows.row_bytes = static_cast<std::size_t>(row * element);
  if (index->dtype() == DType::i64)
    emit<std::int64_t>(planner, node, rows, x, indices, out);
  else
    emit<std::int32_t>(planner, node, rows, x, indices, out);
  return true;
}

}  // namespace tenon
