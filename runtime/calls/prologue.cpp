#include "runtime/calls/prologue.h"

#include <algorithm>
#include <unordered_set>

#include "ir/flops.h"
#include "ir/ops/control.h"
#include "ir/ops/conv.h"
#include "ir/ops/linear.h"
#include "ir/outline.h"
#include "runtime/calls/epilogue.h"
#include "runtime/constant_value.h"
#include "runtime/device.h"
#include "runtime/loop_builder.h"

namespace tenon {
namespace {

const Node* anchor_of(const Group& group) {
  const Node* anchor = nullptr;
  for (const Node* member : group.members()) {
    if (!member->op().info().anchor) continue;
    if (anchor) return nullptr;
    anchor = member;
  }
  return anchor;
}

std::optional<MatrixStrides> as_matrix(const Strided& layout, const Index& shape, const Order& order) {
  const std::int64_t columns = shape[static_cast<std::size_t>(order.back())];
  Index strides;
  if (!layout.expand(shape).permute(order).can_view_as({numel(shape) / columns, columns}, &strides))
    return std::nullopt;
  return MatrixStrides{strides[0], strides[1]};
}

}  // namespace

Prologue::Prologue(Group members, Group rest, const Value* result)
    : members_(std::move(members)), rest_(std::move(rest)), result_(result) {}

std::optional<Prologue> Prologue::match(const Group& group) {
  const Node* anchor = anchor_of(group);
  if (!anchor || !group.contains(anchor->input())) return std::nullopt;
  std::unordered_set<const Node*> computing{anchor->input()->node()};
  std::vector<const Node*> members, rest;
  for (auto node = group.members().rbegin(); node != group.members().rend(); ++node) {
    if (!computing.contains(*node)) {
      rest.push_back(*node);
      continue;
    }
    members.push_back(*node);
    for (const Value* v : (*node)->inputs())
      if (group.contains(v)) computing.insert(v->node());
  }
  std::reverse(members.begin(), members.end());
  std::reverse(rest.begin(), rest.end());
  for (const Node* member : members) {
    const auto is_read_here = [&](const Use& use) {
      if (use.node == anchor) return use.index == 0 && member->output() == anchor->input();
      return use.node && computing.contains(use.node);
    };
    const auto& uses = member->output()->uses();
    if (!member->op().is_pointwise() || !std::all_of(uses.begin(), uses.end(), is_read_here))
      return std::nullopt;
  }
  return Prologue(group.of(std::move(members)), group.of(std::move(rest)), anchor->input());
}

Work Prologue::work() const {
  Work work{.bytes = -bytes_of(result_->type())};
  for (const Node* member : members_.members()) work.flops += flops(*member);
  for (const Value* v : members_.operands()) work.bytes += bytes_of(v->type());
  return work;
}

LoopProgram Prologue::program(Planner& planner, const Order& order,
                              std::vector<PlannedTensor>& buffers) const {
  const Index shape = eval(result_->shape(), {});
  const std::int64_t columns = shape[static_cast<std::size_t>(order.back())];
  LoopProgram program("prologue", {numel(shape) / columns, columns});
  const auto load = [&](const Value* inner) {
    const Value* outer = members_.outer(inner);
    const auto is_matrix = [&](const PlannedTensor& t) { return as_matrix(t, shape, order).has_value(); };
    const Order dense = outer->rank() == shape.size() ? order : row_major(outer->rank());
    buffers.push_back(planner.copied(outer, dense, is_matrix));
    const MatrixStrides at = *as_matrix(buffers.back(), shape, order);
    return program.load({.buffer = static_cast<int>(buffers.size()) - 1,
                         .dtype = buffers.back().dtype(),
                         .strides = {at.row, at.column}});
  };
  LoopBuilder builder(program, nullptr, load);
  for (const Node* member : members_.members()) builder.emit(*member);
  program.store({.buffer = -1, .dtype = result_->dtype(), .strides = {columns, 1}}, builder.reg(result_));
  return program;
}

namespace {

// A product whose first operand is a matrix that is multiplied by one other.
struct Product {
  Node* node = nullptr;
  const Value* operand = nullptr;  // of the graph
  Order order;                     // in which it is a matrix
  double times = 1;                // that each element is read by a kernel
};

// As the tiles of GPUs have it (kernels/gpu/product_tiling.cpp): products of so few rows are computed without
// them.
constexpr std::int64_t few_rows = 4, tile_columns = 128;

std::optional<Product> product_of(Node& node) {
  const Group group(node);
  const Node* anchor = anchor_of(group);
  if (!anchor || anchor->num_outputs() != 1 || group.contains(anchor->input())) return std::nullopt;
  const Value* operand = group.outer(anchor->input());
  const Index shape = eval(operand->shape(), {}), result = eval(anchor->output()->shape(), {});
  if (shape.size() < 2 || numel(shape) == 0 || numel(result) == 0 || !is_float(operand->dtype()))
    return std::nullopt;
  Product product{.node = &node, .operand = operand, .order = row_major(shape.size())};
  std::int64_t columns = result.back();
  if (anchor->is<Linear>() || anchor->is<MatMul>()) {
    if (anchor->input(1)->rank() != 2) return std::nullopt;
    if (numel(shape) / shape.back() <= few_rows) return std::nullopt;
  } else if (const auto* conv = anchor->as<Conv>(); conv && conv->groups == 1) {
    product.order = channels_last(shape.size());
    const Index weights = eval(anchor->input(1)->shape(), {});
    columns = result[1];
    for (std::size_t i = 2; i < weights.size(); ++i) product.times *= static_cast<double>(weights[i]);
  } else {
    return std::nullopt;
  }
  product.times *= static_cast<double>((columns + tile_columns - 1) / tile_columns);
  return product;
}

// Of the operand's shape, or the same for all of its rows or columns.
bool is_like_matrix(const Value* value, const Index& shape, const Order& order) {
  const Index own = eval(value->shape(), {});
  const std::size_t lead = shape.size() - own.size();
  const auto size = [&](std::int64_t axis) {
    const auto a = static_cast<std::size_t>(axis);
    return a < lead ? 1 : own[a - lead];
  };
  const auto rows = std::span(order).first(order.size() - 1);
  const auto is_whole = [&](std::int64_t axis) {
    return size(axis) == shape[static_cast<std::size_t>(axis)];
  };
  return std::ranges::all_of(rows, is_whole) ||
         std::ranges::all_of(rows, [&](auto axis) { return size(axis) == 1; });
}

// What computes the operand for this product alone.
Node* computed_by(const Product& product) {
  Node* node = product.operand->node();
  if (!node || node->num_outputs() != 1 || product.operand->uses().size() != 1) return nullptr;
  const auto is_known = [](const Value* v) { return ConstantValue(v).is_constant(); };
  if (std::ranges::all_of(node->inputs(), is_known)) return nullptr;  // computed while the plan is made
  const Index shape = eval(product.operand->shape(), {});
  const Group group(*node);
  const bool is_pointwise =
      std::ranges::all_of(group.members(), [](const Node* member) { return member->op().is_pointwise(); });
  const bool fits = std::ranges::all_of(group.operands(), [&](const Value* v) {
    return v->kind() == Value::Kind::literal || is_like_matrix(v, shape, product.order);
  });
  return is_pointwise && fits && has_loop_types(group) ? node : nullptr;
}

double bytes_moved(const Node& node) {
  double bytes = bytes_of(node.output()->type());
  for (const Value* v : node.inputs()) bytes += bytes_of(v->type());
  return bytes;
}

bool pays(const Product& product, const Node& before, const Device& device) {
  // Kernels that the prologue rules out take half the time: those whose sides are copied as they are.
  const double slowdown = 2;
  const double operand = bytes_of(product.operand->type());
  const double work = flops(*product.node), loop = flops(before);
  const double bytes = bytes_moved(*product.node), loop_bytes = bytes_moved(before);
  const double apart = device.estimate(1, work, bytes) + device.estimate(1, loop, loop_bytes);
  return device.estimate(1, slowdown * work + product.times * loop, bytes + loop_bytes - 2 * operand) < apart;
}

// Members that a node stands for, in the graph's body.
std::vector<Node*> members_in_body(Node* node) {
  if (!node->is<Fused>()) return {node};
  const std::size_t count = node->region().nodes().size();
  Region& body = node->parent();
  std::vector<Node*> members;
  for (Node* n = body.inline_region(node, 0); members.size() < count; n = body.next(n)) members.push_back(n);
  return members;
}

Node* outlined(std::span<Node* const> members) {
  return members.size() > 1 ? outline(members) : members.front();
}

}  // namespace

Node* split_prologue(Node& node) {
  const auto prologue = Prologue::match(Group(node));
  if (!prologue) return nullptr;
  const std::unordered_set<const Node*> before(prologue->members().begin(), prologue->members().end());
  std::vector<Node*> first, rest;
  for (Node* member : members_in_body(&node)) (before.contains(member) ? first : rest).push_back(member);
  Node* const begin = outlined(first);
  outlined(rest);
  return begin;
}

void take_prologues(Graph& graph, const Device& device) {
  if (!device.computes_prologues) return;
  Region& body = graph.body();
  Node* next = body.nodes().empty() ? nullptr : body.nodes().front().get();
  while (Node* const node = next) {
    next = body.next(node);
    const auto product = product_of(*node);
    Node* const before = product ? computed_by(*product) : nullptr;
    if (!before || !pays(*product, *before, device)) continue;
    std::vector<Node*> members = members_in_body(before);
    for (Node* member : members_in_body(node)) members.push_back(member);
    outline(members);
  }
}

}  // namespace tenon
