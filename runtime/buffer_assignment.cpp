#include "runtime/buffer_assignment.h"

#include <algorithm>

#include "base/error.h"
#include "ir/ops/bits.h"
#include "ir/ops/complex.h"
#include "ir/ops/control.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/shape.h"
#include "runtime/complex_parts.h"
#include "runtime/rows_apart.h"

namespace tenon {
namespace {

Index sizes_of(const Value* value) { return eval(value->shape(), {}); }

Axes inverse(const Axes& axes) {
  Axes result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return result;
}

}  // namespace

BufferAssignment::BufferAssignment(const Graph& graph, Buffers& buffers,
                                   std::span<const std::size_t> pinned_outputs)
    : graph_(graph), buffers_(buffers) {
  const auto& parameters = graph.body().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    bind(parameters[i].get(), buffers.external(Buffer::Kind::input, i, parameters[i]->dtype(),
                                               sizes_of(parameters[i].get()), Space::device));
  const auto& results = graph.body().results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool is_pinned = std::count(pinned_outputs.begin(), pinned_outputs.end(), i) > 0;
    outputs_.push_back(buffers.external(Buffer::Kind::output, i, results[i]->dtype(), sizes_of(results[i]),
                                        is_pinned ? Space::pinned : Space::device));
  }
}

bool BufferAssignment::known(const Value* value) const {
  return value->is_constant() || assigned_.contains(value);
}

const PlannedTensor& BufferAssignment::at(const Value* value) {
  if (const auto it = assigned_.find(value); it != assigned_.end()) return it->second;
  TENON_CHECK(value->is_constant());
  return assigned_.emplace(value, buffers_.constant(value->tensor())).first->second;
}

const Strided& BufferAssignment::layout(const Value* value) const {
  if (const auto it = assigned_.find(value); it != assigned_.end()) return it->second;
  TENON_CHECK(value->is_constant());
  return value->tensor();
}

std::optional<Tensor> BufferAssignment::constant(const Value* value) const {
  const auto it = assigned_.find(value);
  if (it == assigned_.end()) return value->is_constant() ? std::optional(value->tensor()) : std::nullopt;
  const PlannedTensor& place = it->second;
  const Buffer& buffer = buffers_.of(place);
  if (buffer.kind != Buffer::Kind::constant) return std::nullopt;
  return Tensor::view_of(buffer.constant_bytes(), place.dtype(), place.shape(), place.strides(),
                         place.offset());
}

void BufferAssignment::bind(const Value* value, PlannedTensor tensor) {
  values_in_[tensor.buffer()].push_back(value);
  assigned_[value] = std::move(tensor);
}

// An output of the graph, a part of a concatenation or of complex numbers.
std::optional<PlannedTensor> BufferAssignment::own_destination(const Value* value) {
  for (const Use& use : value->uses())
    if (use.region == &graph_.body() && buffers_.of(outputs_[use.index]).space == Space::device)
      return outputs_[use.index];
  for (const Use& use : value->uses()) {
    if (!use.node || finished_.contains(use.node)) continue;
    const bool is_concat = use.node->is<Concat>();
    if (!is_concat && !use.node->is<Complex>()) continue;
    const auto& operands = use.node->inputs();
    if (std::count(operands.begin(), operands.end(), value) != 1) continue;
    return is_concat ? concat_slice(*use.node, use.index)
                     : part_of(complex_whole(*use.node), static_cast<std::int64_t>(use.index));
  }
  return std::nullopt;
}

namespace {

bool is_view(const Node* node) {
  return node && (node->is<Permute>() || node->is<Reshape>() || node->is<Real>() || node->is<Bitcast>());
}

}  // namespace

// The operand's axes in the memory of its view, where they can be found again: behind a real part where the
// imaginary ones are to lie beside.
std::optional<PlannedTensor> BufferAssignment::behind(const Node& view, const Value* operand,
                                                      const PlannedTensor& target) {
  if (const auto* permute = view.as<Permute>()) return target.permute(inverse(permute->axes));
  if (view.is<Real>()) {
    const auto imag = std::find_if(operand->uses().begin(), operand->uses().end(),
                                   [](const Use& use) { return use.node && use.node->is<Imag>(); });
    if (imag == operand->uses().end()) return std::nullopt;
    const auto beside = destination(imag->node->output());
    return beside ? whole_of(target, *beside) : std::nullopt;
  }
  if (view.is<Bitcast>()) return is_complex(operand->dtype()) ? numbers_of(target) : std::nullopt;
  const Index sizes = sizes_of(operand);
  if (!target.can_view_as(sizes)) return std::nullopt;
  return target.view_as(sizes);
}

// Where a value should be written so that nobody has to move it: its own destination or, through views, that
// of what is seen of it.
std::optional<PlannedTensor> BufferAssignment::destination(const Value* value) {
  struct Level {
    const Value* value;
    const Node* view;  // leads here from the level before
    std::size_t next_use = 0;
  };
  std::vector<Level> levels = {{value, nullptr}};
  auto found = own_destination(value);
  while (true) {
    if (found && levels.size() == 1) return found;
    if (found) {
      const Node& view = *levels.back().view;
      levels.pop_back();
      found = behind(view, levels.back().value, *found);
      continue;
    }
    Level& level = levels.back();
    const auto& uses = level.value->uses();
    while (level.next_use < uses.size() && !is_view(uses[level.next_use].node)) ++level.next_use;
    if (level.next_use < uses.size()) {
      const Node* view = uses[level.next_use++].node;
      levels.push_back({view->output(), view});
      found = own_destination(view->output());
    } else if (levels.size() > 1) {
      levels.pop_back();
    } else {
      return std::nullopt;
    }
  }
}

// Of rows that products read, a tile reads several at once, which would meet in the same sets of the cache.
PlannedTensor BufferAssignment::new_memory(const Value* value, const Order& order,
                                           FunctionRef<bool(const PlannedTensor&)> fits) {
  constexpr std::int64_t few_rows = 8;
  const Index sizes = sizes_of(value);
  const auto lies = [&](const MemoryRules& rules, std::int64_t row) {
    return Strided(value->dtype(), sizes, strides_in(order, sizes, value->dtype(), rules, row), 0);
  };
  std::int64_t row = 0;
  if (buffers_.rules().row_period > 0) row = row_of_products(*value, lies({}, 0));
  if (row > 0 && (numel(sizes) < few_rows * row || !keeps_views(*value, lies(buffers_.rules(), row))))
    row = 0;
  return buffers_.arena(value->dtype(), sizes, order, fits, row);
}

PlannedTensor BufferAssignment::assign(const Value* value, const Order& order,
                                       FunctionRef<bool(const PlannedTensor&)> fits) {
  TENON_CHECK(!assigned_.contains(value));
  const auto target = destination(value);
  const bool use_target = target && fits(*target);
  bind(value, use_target ? *target : new_memory(value, order, fits));
  return at(value);
}

PlannedTensor BufferAssignment::assign(const Value* value, const Order& order) {
  return assign(value, order, [](const PlannedTensor&) { return true; });
}

PlannedTensor BufferAssignment::assign_rows(const Value* value, const Order& order) {
  return assign(value, order,
                [&](const PlannedTensor& target) { return row_stride(target, order).has_value(); });
}

std::optional<PlannedTensor> BufferAssignment::assign_over(const Value* value, const Value* operand,
                                                           const Node& reader) {
  if (!known(operand) || constant(operand) || operand->type() != value->type()) return std::nullopt;
  const PlannedTensor place = at(operand);
  const auto& strides = place.strides();
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (strides[i] <= 0 && place.shape()[i] > 1) return std::nullopt;
  if (!dies_at(place, reader) || destination(value)) return std::nullopt;
  // Another view of the same memory (x[1:] beside x[:-1]) would see what was written already.
  for (const Value* other : reader.inputs())
    if (other != operand && known(other) && at(other).buffer() == place.buffer()) return std::nullopt;
  bind(value, place);
  return place;
}

bool BufferAssignment::dies_at(const PlannedTensor& place, const Node& reader) {
  if (buffers_.of(place).kind != Buffer::Kind::arena) return false;
  const auto used_up = [&](const Use& use) {
    return use.node && (use.node == &reader || finished_.contains(use.node));
  };
  auto& values = values_in_[place.buffer()];
  std::erase_if(values, [&](const Value* v) {  // they stay used up
    return std::all_of(v->uses().begin(), v->uses().end(),
                       [&](const Use& use) { return use.node && finished_.contains(use.node); });
  });
  return std::all_of(values.begin(), values.end(), [&](const Value* v) {
    return std::all_of(v->uses().begin(), v->uses().end(), used_up);
  });
}

Order BufferAssignment::order_for_reader(const Value* value) const {
  const Node* reader = value->uses().size() == 1 ? value->uses()[0].node : nullptr;
  const auto* permute = reader ? reader->as<Permute>() : nullptr;
  return permute ? permute->axes : row_major(value->rank());
}

// The concatenations that begin with all parts of this one, the longest first: in a dense block, each layer
// reads what all layers before it made.
std::vector<const Node*> BufferAssignment::longer_concats(const Node& concat) const {
  const auto& parts = concat.inputs();
  std::vector<const Node*> longer;
  for (const Use& use : parts[0]->uses()) {
    const Node* other = use.index == 0 ? use.node : nullptr;
    if (!other || !other->is<Concat>() || &other->parent() != &concat.parent() || finished_.contains(other))
      continue;
    const auto& others = other->inputs();
    if (other->as<Concat>()->axis == concat.as<Concat>()->axis && others.size() > parts.size() &&
        std::equal(parts.begin(), parts.end(), others.begin()))
      longer.push_back(other);
  }
  std::stable_sort(longer.begin(), longer.end(),
                   [](const Node* a, const Node* b) { return a->inputs().size() > b->inputs().size(); });
  return longer;
}

// Where the concatenation may lie as the begin of a longer one: one that lies in the order that its own
// readers want, or they would copy it.
std::optional<PlannedTensor> BufferAssignment::begin_of_longer(const Node& concat, bool channels_last) {
  const std::int64_t axis = concat.as<Concat>()->axis;
  const std::int64_t size = sizes_of(concat.output())[static_cast<std::size_t>(axis)];
  for (const Node* longer : longer_concats(concat)) {
    const PlannedTensor begin = concat_whole(*longer).slice(axis, 0, size);
    if (is_channels_last(begin) == channels_last) return begin;
  }
  return std::nullopt;
}

const PlannedTensor& BufferAssignment::concat_whole(const Node& concat) {
  const Value* whole = concat.output();
  if (assigned_.contains(whole)) return at(whole);
  const bool is_last = made_channels_last(whole);
  if (const auto begin = begin_of_longer(concat, is_last))
    bind(whole, *begin);
  else
    assign(whole, is_last ? channels_last(whole->rank()) : row_major(whole->rank()));
  return at(whole);
}

PlannedTensor BufferAssignment::concat_slice(const Node& concat, std::size_t operand) {
  const std::int64_t axis = concat.as<Concat>()->axis;
  const auto extent = [&](std::size_t i) {
    return sizes_of(concat.input(i))[static_cast<std::size_t>(axis)];
  };
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < operand; ++i) begin += extent(i);
  return concat_whole(concat).slice(axis, begin, begin + extent(operand));
}

const PlannedTensor& BufferAssignment::complex_whole(const Node& complex) {
  const Value* whole = complex.output();
  if (!assigned_.contains(whole)) assign(whole, row_major(whole->rank()));
  return at(whole);
}

bool BufferAssignment::is_channels_last_kernel(const Node& node) const {
  if (!node.is<Fused>()) return works_channels_last(node.op());
  const auto& members = node.region().nodes();
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& m) { return works_channels_last(m->op()); });
}

bool BufferAssignment::read_channels_last(const Value* value) const {
  if (value->rank() < 3) return false;
  return std::any_of(value->uses().begin(), value->uses().end(),
                     [&](const Use& use) { return use.node && is_channels_last_kernel(*use.node); });
}

std::optional<bool> BufferAssignment::known_channels_last(const Value* value) const {
  if (value->rank() < 3 || value->is_constant()) return false;
  if (const auto it = assigned_.find(value); it != assigned_.end()) return is_channels_last(it->second);
  if (const auto it = channels_last_.find(value); it != channels_last_.end()) return it->second;
  if (!value->node()) return false;
  if (is_channels_last_kernel(*value->node())) return true;
  return std::nullopt;
}

bool BufferAssignment::made_channels_last(const Value* value) {
  const auto keeps_axes = [](const Node& node) {
    return node.op().info().op_kind != OpKind::reference || node.is<Fused>() || node.is<Concat>() ||
           node.is<Pad>() || node.is<Slice>() || node.is<Interpolate>();
  };
  std::vector<const Value*> open = {value};
  while (!open.empty()) {
    const Value* v = open.back();
    const auto known = known_channels_last(v);
    bool wanted = known.value_or(false);
    std::vector<const Value*> unknown;
    if (!known && keeps_axes(*v->node()))
      for (const Value* input : v->node()->inputs()) {
        if (input->rank() != v->rank()) continue;
        const auto of_input = known_channels_last(input);
        if (!of_input) unknown.push_back(input);
        wanted = wanted || of_input.value_or(false);
      }
    if (!wanted && !unknown.empty()) {
      open.insert(open.end(), unknown.begin(), unknown.end());
      continue;
    }
    if (!known) channels_last_[v] = wanted;
    open.pop_back();
  }
  return known_channels_last(value).value();
}

}  // namespace tenon
