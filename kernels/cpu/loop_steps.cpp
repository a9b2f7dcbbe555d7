// Steps of a loop program, one instruction after the other: which loop runs, which values it reads where they
// lie in memory, and which parts of the worker's scratch are free again.
#include "kernels/cpu/loop_steps.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/alignment.h"
#include "kernels/cpu/held_type.h"

namespace tenon::cpu {

LoopSteps::LoopSteps(const LoopProgram& program, LoopSpace space)
    : program_(program), nodes_(recognise_chains(program, space.mode)) {
  choose_held_types(program, nodes_);
  join_products(program, space.mode, nodes_);
  use_tables(program, nodes_);
  plan_.space = std::move(space);
  for (std::size_t i = 0; i < program.code.operands.size(); ++i) {
    const LoopOperand operand = program.operand(i);
    plan_.operand_buffers.push_back(operand.buffer);
    plan_.operand_sizes.push_back(stored_size(operand.dtype));
    plan_.gathered.push_back(
        {operand.index_stride, operand.range, operand.from_end, load_op(operand.dtype) != nullptr});
    plan_.words.push_back(in_words(plan_.space.operands[i]));
  }
  // The worker's scratch begins with the operands' addresses, for the item and for the block, and with the
  // place along each outer dim.
  const std::size_t places = program.code.operands.size() * 2 + plan_.space.outer.size();
  plan_.scratch_bytes = aligned_up(places * sizeof(std::byte*), line_bytes);
  values_ = describe_values(nodes_, plan_.space);
  in_memory_ = operator_in_memory(program_, nodes_, values_, plan_.space);
  locations_.assign(nodes_.size(), ValueLocation{});
}

bool LoopSteps::single_pass() const {
  switch (space().mode) {
    case LoopMode::map: return true;
    case LoopMode::rows: return space().q_count > 0 && space().q_block >= space().q_count;
    case LoopMode::columns:
      return space().p > 0 && space().p_block >= space().p && space().reduced_outer.empty();
  }
  return false;
}

bool LoopSteps::fills_tile(Reg r) {
  return space().mode != LoopMode::map ||
         (value(r).has_q && !value(r).repeats && (value(r).has_p || space().p == 1));
}

bool LoopSteps::is_dense(const Access& access, const LoopValue& v) const {
  if (v.has_q) return space().has_one_stride(access) && access.q.back() == 1;
  return !v.has_p || access.p == 1 || space().p_block == 1;
}

bool LoopSteps::is_direct_load(Reg r) {
  if (at(r).op != LoopOp::load) return false;
  if ((in_memory_ && value(r).has_q) || is_folded_in_memory(r)) return true;
  const DType dtype = program_.code.operands[operand(r)].dtype;
  return held_type(dtype) == dtype && (!is_bool(dtype) || only_primitives_read(nodes_, r)) &&
         is_dense(space().operands[operand(r)], value(r)) && !is_read_after_stores(r);
}

bool LoopSteps::is_folded_in_memory(Reg load) {
  const DType dtype = program_.code.operands[operand(load)].dtype;
  if (space().mode == LoopMode::map || !value(load).has_q ||
      !is_dense(space().operands[operand(load)], value(load)))
    return false;
  for (Reg user = load + 1; user < end(); ++user)
    for (int a = 0; value(user).needed && a < arg_count(user); ++a)
      if (arg(user, a) == load && (a > 0 || !fold_in_memory(node(user), dtype, space().mode))) return false;
  return true;
}

bool LoopSteps::is_read_after_stores(Reg load) const {
  const auto buffer_of = [&](Reg r) { return program_.code.operands[operand(r)].buffer; };
  bool is_stored = false, is_written = false;
  for (Reg r = load + 1; r < end(); ++r) {
    if (at(r).op != LoopOp::store) continue;
    is_stored = is_stored || arg(r, 0) == load;
    is_written = is_written || buffer_of(r) == buffer_of(load);
  }
  return is_stored && is_written;
}

ValueLocation LoopSteps::new_location(Reg r, ValueLocation::Where where, long bytes) {
  ValueLocation p{.where = where, .size = stored_size(held(r))};
  p.has_p = value(r).has_p;
  p.has_q = value(r).has_q;
  p.offset = allocate(bytes);
  return p;
}

long LoopSteps::allocate(long bytes) {
  // A long register begins further from a page boundary than the one before: none share L1 sets.
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t multiple = size < 2 * stream_skew ? line_bytes : stream_skew;
  const std::size_t offset = aligned_up(plan_.scratch_bytes, multiple);
  plan_.scratch_bytes = offset + aligned_up(size, multiple) + (size % page_bytes == 0 ? stream_skew : 0);
  return static_cast<long>(offset);
}

long LoopSteps::values_in(bool has_p, bool has_q) const {
  return (has_p ? space().p_block : 1) * (has_q ? space().q_block : 1);
}

void LoopSteps::emit_list(const std::vector<Reg>& order, TileSteps& steps, TileSteps* after_folds) {
  std::vector<int> last_use(nodes_.size(), -1);
  for (std::size_t n = 0; n < order.size(); ++n)
    for (int a = 0; a < arg_count(order[n]); ++a)
      last_use[static_cast<std::size_t>(arg(order[n], a))] = static_cast<int>(n);
  for (std::size_t n = 0; n < order.size(); ++n) {
    const Reg r = order[n];
    if (value(r).in_block || space().mode == LoopMode::map) release(static_cast<int>(n), last_use);
    emit(r, order, n, steps, after_folds);
  }
  release(static_cast<int>(order.size()), last_use);
}

void LoopSteps::release(int now, const std::vector<int>& last_use) {
  std::erase_if(live_, [&](Reg r) {
    // A value read for the last time in this very step gives its place to the result: loops allow that.
    if (last_use[static_cast<std::size_t>(r)] > now) return false;
    free_[{location(r).size, values_in(location(r).has_p, location(r).has_q)}].push_back(location(r).offset);
    return true;
  });
}

ValueLocation LoopSteps::scratch_for(Reg r) {
  ValueLocation p{.where = ValueLocation::Where::scratch, .size = stored_size(held(r))};
  p.has_p = value(r).has_p;
  p.has_q = value(r).has_q;
  const long count = values_in(p.has_p, p.has_q);
  const bool reusable = value(r).in_block || (space().mode == LoopMode::map && fills_tile(r));
  auto& free = free_[{p.size, count}];
  if (reusable && !free.empty()) {
    p.offset = free.back();
    free.pop_back();
  } else {
    p.offset = allocate(count * p.size);
  }
  if (reusable) live_.push_back(r);
  return p;
}

void LoopSteps::emit(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps,
                     TileSteps* after_folds) {
  switch (at(r).op) {
    case LoopOp::constant: location(r) = constant_location(at(r)); return;
    case LoopOp::count: return;  // a constant by now
    case LoopOp::tile:
      location(r) = {.where = ValueLocation::Where::tile, .size = 4, .has_p = true, .has_q = true};
      return;
    case LoopOp::load: emit_load(r, order, n, steps); return;
    case LoopOp::gather: emit_gather(r, steps); return;
    case LoopOp::iota: emit_iota(r, steps); return;
    case LoopOp::prim: emit_prim(r, order, n, steps); return;
    case LoopOp::reduce: emit_reduce(r, steps, *after_folds); return;
    case LoopOp::store: emit_store(r, steps); return;
  }
}

TileStep LoopSteps::step_for(Reg r, TileStep::Kind kind) {
  TileStep step;
  step.kind = kind;
  step.has_p = value(r).has_p;
  step.has_q = value(r).has_q;
  return step;
}

void LoopSteps::set_out(Reg r) {
  if (!is_kept(r)) location(r) = scratch_for(r);
}

void LoopSteps::set_out(Reg r, const std::vector<Reg>& order, std::size_t n) {
  const Reg target = is_kept(r) ? -1 : direct_store(r, order, n);
  if (target < 0) return set_out(r);
  location(r) = in_memory(r, at(target).operand, held(r));
}

ValueLocation LoopSteps::new_scratch(DType type, bool has_p, bool has_q) {
  const long size = stored_size(type), offset = allocate(values_in(has_p, has_q) * size);
  return {ValueLocation::Where::scratch, offset, size, has_p, has_q};
}

ValueLocation LoopSteps::in_memory(Reg r, int operand, DType type) {
  return {ValueLocation::Where::memory, operand, stored_size(type), value(r).has_p, value(r).has_q};
}

ValueLocation LoopSteps::constant_location(const Instruction& i) {
  ValueLocation p{.where = ValueLocation::Where::constant,
                  .offset = static_cast<long>(plan_.constants.size())};
  p.size = stored_size(i.type);
  plan_.constants.resize(plan_.constants.size() + 8);
  std::byte* data = plan_.constants.data() + p.offset;
  const auto put = [&](auto x) { std::memcpy(data, &x, sizeof x); };
  if (i.type == DType::f32) put(static_cast<float>(i.value));
  if (i.type == DType::f64) put(i.value);
  if (i.type == DType::i64) put(i.integer);
  if (i.type == DType::boolean) put(static_cast<std::uint8_t>(i.integer != 0));
  return p;
}

void LoopSteps::emit_load(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps) {
  if (is_direct_load(r)) {
    location(r) = in_memory(r, at(r).operand, program_.code.operands[operand(r)].dtype);
    return;
  }
  TileStep step = step_for(r, TileStep::Kind::load);
  step.access = at(r).operand;
  step.transfer = load_op(program_.code.operands[operand(r)].dtype);
  move_patches(step, r);
  set_out(r, order, n);
  step.out = location(r);
  add_move(step, r, steps);
}

bool LoopSteps::are_pair(Reg a, Reg b) {
  if (at(a).op != at(b).op || (at(a).op != LoopOp::load && at(a).op != LoopOp::store)) return false;
  const Access &x = space().operands[operand(a)], &y = space().operands[operand(b)];
  const LoopCode::OperandCode &first = program_.code.operands[operand(a)],
                              &second = program_.code.operands[operand(b)];
  return first.buffer == second.buffer && first.dtype == second.dtype &&
         held_type(first.dtype) == first.dtype && std::labs(x.offset - y.offset) == 1 &&
         x.q == std::vector<long>{2} && x.q == y.q && x.p == y.p && x.outer == y.outer &&
         x.reduced_outer == y.reduced_outer;
}

void LoopSteps::add_move(TileStep step, Reg r, TileSteps& steps) {
  using Where = ValueLocation::Where;
  const auto values = [](TileStep& s) -> ValueLocation& {
    return s.kind == TileStep::Kind::load ? s.out : s.in[0];
  };
  const auto is_dense = [&](TileStep& s) {
    const ValueLocation& v = values(s);
    return s.patch && v.where == Where::scratch && v.has_q && v.has_p == s.has_p;
  };
  if (!steps.empty() && moved_ >= 0 && are_pair(moved_, r) && is_dense(step) && is_dense(steps.back()) &&
      steps.back().kind == step.kind && steps.back().access == at(moved_).operand) {
    TileStep& before = steps.back();
    moved_ = -1;
    before.other = values(step);
    if (space().operands[operand(r)].offset >
        space().operands[static_cast<std::size_t>(before.access)].offset)
      return;
    std::swap(before.other, values(before));
    before.access = step.access;
    return;
  }
  const long word = space().operands[operand(r)].word;
  const bool is_packed = step.transfer || values(step).where == Where::scratch;
  if (step.patch && is_packed && step.has_q && values(step).has_q) step.word = word;
  moved_ = r;
  steps.push_back(step);
}

void LoopSteps::move_patches(TileStep& step, Reg r) {
  const bool dense = is_dense(space().operands[operand(r)], value(r));
  if (dense && step.transfer) return;
  const long size = plan_.operand_sizes[operand(r)];
  step.patch = patch_op(size);
  if (!step.transfer) return;
  constexpr long largest_converted = 4;  // bytes
  if (packed_ < 0) packed_ = allocate(values_in(true, true) * largest_converted);
  step.packed = {ValueLocation::Where::scratch, packed_, size, step.has_p, step.has_q};
}

void LoopSteps::emit_gather(Reg r, TileSteps& steps) {
  TileStep step = step_for(r, TileStep::Kind::gather);
  step.access = at(r).operand;
  step.transfer = load_op(program_.code.operands[operand(r)].dtype);
  step.in_count = arg_count(r);
  step.in[0] = held_as(arg(r, 0), DType::i64, steps);
  if (step.in_count > 1) step.in[1] = location(arg(r, 1));
  set_out(r);
  step.out = location(r);
  steps.push_back(step);
}

void LoopSteps::emit_iota(Reg r, TileSteps& steps) {
  TileStep step = step_for(r, TileStep::Kind::iota);
  step.access = r;
  set_out(r);
  step.out = location(r);
  steps.push_back(step);
}

OpFn LoopSteps::op_of(Reg r) {
  const LoopNode& n = node(r);
  if (n.fused >= 0) return fused_op(static_cast<Fused>(n.fused), n.operands);
  const Instruction& i = n.instruction;
  if (i.prim != Prim::cast) return loop_op(i.prim, n.operands);
  return cast_op(n.operands, n.held == held_type(i.type) ? i.type : n.held);
}

ValueLocation LoopSteps::held_as(Reg r, DType type, TileSteps& steps, Reg store) {
  const bool same_bits = is_integral(type) && size_of(held(r)) == size_of(type);
  if (held(r) == type || same_bits || at(r).op == LoopOp::constant) return location(r);
  TileStep convert = step_for(r, TileStep::Kind::op);
  convert.op = cast_op(held(r), type);
  convert.in_count = 1;
  convert.in[0] = location(r);
  const bool directly = store >= 0 && can_write_directly(store, r, type);
  convert.out =
      directly ? in_memory(r, at(store).operand, type) : new_scratch(type, convert.has_p, convert.has_q);
  steps.push_back(convert);
  return convert.out;
}

void LoopSteps::emit_prim(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps) {
  TileStep step = step_for(r, TileStep::Kind::op);
  if (in_memory_ && in_memory_->reg == r) {
    step.op = in_memory_->loop;
    step.in_count = arg_count(r);
    for (int a = 0; a < step.in_count; ++a) step.in[a] = location(arg(r, a));
    step.out = location(r) = in_memory(r, at(in_memory_->store).operand, in_memory_->dtype);
    steps.push_back(step);
    return;
  }
  if (node(r).table) return emit_table(r, order, n, steps);
  step.op = op_of(r);
  step.in_count = arg_count(r);
  const bool selects = node(r).fused < 0 && at(r).prim == Prim::select;
  for (int a = 0; a < step.in_count; ++a)
    step.in[a] = selects && a == 0 ? location(arg(r, a)) : held_as(arg(r, a), node(r).operands, steps);
  set_out(r, order, n);
  step.out = location(r);
  steps.push_back(step);
}

void LoopSteps::emit_table(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps) {
  TileStep step = step_for(r, TileStep::Kind::op);
  step.op = simd_ops().byte_table;
  step.in_count = 2;
  step.in[0] = location(arg(r, 0));
  step.in[1] = {.where = ValueLocation::Where::constant,
                .offset = static_cast<long>(plan_.constants.size()),
                .size = 1};
  const auto bytes = std::as_bytes(std::span(*node(r).table));
  plan_.constants.insert(plan_.constants.end(), bytes.begin(), bytes.end());
  set_out(r, order, n);
  step.out = location(r);
  steps.push_back(step);
}

Reg LoopSteps::direct_store(Reg r, const std::vector<Reg>& order, std::size_t n) {
  Reg target = -1;
  for (std::size_t later = n + 1; later < order.size(); ++later) {
    const Reg user = order[later];
    if (at(user).op == LoopOp::load) return -1;
    if (at(user).op != LoopOp::store && reads_memory(user)) return -1;
    if (at(user).op == LoopOp::store && arg(user, 0) != r && reads_memory(user)) return -1;
    if (at(user).op == LoopOp::store && arg(user, 0) == r && target < 0 &&
        can_write_directly(user, r, held(r)))
      target = user;
  }
  return target;
}

bool LoopSteps::reads_memory(Reg user) {
  for (int a = 0; a < arg_count(user); ++a) {
    const Reg from = arg(user, a);
    if (is_direct_load(from) || at(from).op == LoopOp::tile) return true;
  }
  return false;
}

bool LoopSteps::can_write_directly(Reg store, Reg r, DType type) {
  const LoopValue& s = value(store);
  if (s.has_p != value(r).has_p || s.has_q != value(r).has_q) return false;
  return type == program_.code.operands[operand(store)].dtype &&
         is_dense(space().operands[operand(store)], s);
}

ReduceOps LoopSteps::reduce_of(Reg r) const {
  const DType type = node(r).operands;
  if (node(r).products) return reduce_products_ops(type);
  if (wraps(r)) return reduce_wrapped_ops(type);
  if (!node(r).squares) return reduce_ops(at(r).reduce, type);
  return arg_count(r) == 2 ? reduce_squared_differences_ops(type) : reduce_squares_ops(type);
}

void LoopSteps::emit_reduce(Reg r, TileSteps& steps, TileSteps& after) {
  TileStep init = step_for(r, TileStep::Kind::init);
  init.reduce = reduce_of(r);
  init.out = {.where = ValueLocation::Where::scratch, .size = static_cast<long>(init.reduce.size)};
  init.out.has_p = value(r).has_p;
  init.out.has_q = value(r).has_q;
  init.out.offset = allocate(values_in(value(r).has_p, value(r).has_q) * init.out.size);
  (single_pass() ? steps : plan_.before).push_back(init);

  TileStep fold = init;
  fold.kind = TileStep::Kind::fold;
  fold.in_count = arg_count(r);
  fold.in[0] = fill_columns(arg(r, 0), node(r).operands, steps);
  if (node(r).products)
    fold.in[1] = fill_columns(arg(r, 1), node(r).operands, steps);
  else if (arg_count(r) == 2)
    fold.in[1] = location(arg(r, 1));
  if (at(arg(r, 0)).op == LoopOp::load && (in_memory_ || is_folded_in_memory(arg(r, 0))))
    (space().mode == LoopMode::rows ? fold.reduce.fold_rows : fold.reduce.fold_columns) =
        fold_in_memory(node(r), program_.code.operands[operand(arg(r, 0))].dtype, space().mode);
  steps.push_back(fold);

  TileStep finish = init;
  finish.kind = TileStep::Kind::finish;
  finish.in[0] = init.out;
  location(r) = scratch_for(r);
  finish.out = location(r);
  after.push_back(finish);
  if (space().together == 1) return;
  TileStep join = finish;
  join.kind = TileStep::Kind::join;
  join.reduce = wraps(r) ? reduce_wrapped_ops(held(r)) : reduce_ops(at(r).reduce, held(r));
  join.in[0].size = static_cast<long>(join.reduce.size);
  join.in[0].offset = allocate(values_in(false, true) * join.in[0].size);
  after.push_back(join);
}

ValueLocation LoopSteps::fill_columns(Reg r, DType type, TileSteps& steps) {
  if (value(r).has_q || space().q_count == 1) return held_as(r, type, steps);
  TileStep copy = step_for(r, TileStep::Kind::op);
  copy.op = cast_op(held(r), type);
  copy.has_q = true;
  copy.in_count = 1;
  copy.in[0] = location(r);
  copy.out = new_scratch(type, copy.has_p, true);
  steps.push_back(copy);
  return copy.out;
}

void LoopSteps::emit_store(Reg r, TileSteps& steps) {
  const ValueLocation& computed = location(arg(r, 0));
  if (computed.where == ValueLocation::Where::memory && computed.offset == at(r).operand &&
      !is_direct_load(arg(r, 0)))
    return;
  const ValueLocation from = held_as(arg(r, 0), held(r), steps, r);
  if (from.where == ValueLocation::Where::memory && from.offset == at(r).operand &&
      held(arg(r, 0)) != held(r))
    return;
  TileStep step = step_for(r, TileStep::Kind::store);
  step.access = at(r).operand;
  step.transfer = store_op(program_.code.operands[operand(r)].dtype);
  move_patches(step, r);
  step.in_count = 1;
  step.in[0] = from;
  add_move(step, r, steps);
}

}  // namespace tenon::cpu
