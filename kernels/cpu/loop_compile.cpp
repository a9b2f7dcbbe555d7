// From a loop program to steps: which values exist once per item and which per block, in how many walks over
// the row, and where each of them lies.
#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "base/alignment.h"
#include "base/error.h"
#include "kernels/cpu/held_type.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

constexpr long whole_row_budget = 256 << 10;  // bytes of a worker's scratch for values kept from walk to walk

long stored_size(DType type) { return static_cast<long>(size_of(type)); }

bool is_heavy(Prim p) {
  switch (p) {
    case Prim::div:
    case Prim::sqrt:
    case Prim::neg:
    case Prim::abs:
    case Prim::sign: return false;
    default:
      return info(p).kind == PrimKind::real || p == Prim::pow || p == Prim::fmod || p == Prim::remainder;
  }
}

class Compiler {
 public:
  Compiler(const LoopProgram& program, LoopSpace space)
      : program_(program), nodes_(recognise_chains(program, space.mode)) {
    choose_held_types(program, nodes_);
    use_tables(program, nodes_);
    plan_.space = std::move(space);
    for (std::size_t i = 0; i < program.code.operands.size(); ++i) {
      const LoopOperand operand = program.operand(i);
      plan_.operand_buffers.push_back(operand.buffer);
      plan_.operand_sizes.push_back(stored_size(operand.dtype));
      plan_.gathered.push_back(
          {operand.index_stride, operand.range, operand.from_end, load_op(operand.dtype) != nullptr});
    }
    // The worker's scratch begins with the operands' addresses, for the item and for the block, and with the
    // place along each outer dim.
    const std::size_t places = program.code.operands.size() * 2 + plan_.space.outer.size();
    plan_.scratch_bytes = aligned_up(places * sizeof(std::byte*), line_bytes);
  }

  LoopPlan compile() {
    values_ = describe_values(nodes_, plan_.space);
    last_walk_ = last_walk(nodes_, values_);
    in_memory_ = operator_in_memory(program_, nodes_, values_, plan_.space);
    locations_.assign(nodes_.size(), ValueLocation{});
    plan_.walks.resize(static_cast<std::size_t>(last_walk_) + 1);
    if (single_pass()) {
      compile_single_pass();
    } else {
      compile_stages();
    }
    estimate_cost();
    plan_.scratch_bytes = aligned_up(plan_.scratch_bytes, stream_skew);  // for the next worker's
    return std::move(plan_);
  }

 private:
  std::size_t operand(Reg r) const { return static_cast<std::size_t>(at(r).operand); }
  const LoopNode& node(Reg r) const { return nodes_[static_cast<std::size_t>(r)]; }
  DType held(Reg r) const { return node(r).held; }
  const Instruction& at(Reg r) const { return nodes_[static_cast<std::size_t>(r)].instruction; }
  LoopValue& value(Reg r) { return values_[static_cast<std::size_t>(r)]; }
  ValueLocation& location(Reg r) { return locations_[static_cast<std::size_t>(r)]; }
  int arg_count(Reg r) const { return node(r).arg_count; }
  Reg arg(Reg r, int i) const { return node(r).arg(i); }
  Reg end() const { return static_cast<Reg>(nodes_.size()); }
  const LoopSpace& space() const { return plan_.space; }

  // One block covers the whole reduced row, so that everything runs in program order.
  bool single_pass() const {
    switch (space().mode) {
      case LoopMode::map: return true;
      case LoopMode::rows: return space().q_count > 0 && space().q_block >= space().q_count;
      case LoopMode::columns:
        return space().p > 0 && space().p_block >= space().p && space().reduced_outer.empty();
    }
    return false;
  }

  // ---- one walk: program order, stores last ----

  void compile_single_pass() {
    plan_.walks.resize(1);
    std::vector<Reg> of_rows, of_columns, order;
    for (Reg r = 0; r < end(); ++r)
      if (value(r).needed && at(r).op != LoopOp::store)
        (fills_tile(r) ? order : value(r).has_q ? of_columns : of_rows).push_back(r);
    for (Reg r = 0; r < end(); ++r)
      if (at(r).op == LoopOp::store) order.push_back(r);
    emit_list(of_rows, plan_.of_rows, nullptr);
    emit_list(of_columns, plan_.of_columns, nullptr);
    emit_list(order, plan_.walks[0].block, &plan_.walks[0].block);
  }
  /// Is it computed for each tile, even where the tile before had the same rows, or columns?
  bool fills_tile(Reg r) {
    return space().mode != LoopMode::map || (value(r).has_q && (value(r).has_p || space().p == 1));
  }

  // ---- several walks over the row ----

  void compile_stages() {
    emit_row_values(0, plan_.before);
    for (int s = 0; s <= last_walk_; ++s) {
      LoopWalk& walk = plan_.walks[static_cast<std::size_t>(s)];
      emit_list(block_order(s), walk.block, &walk.after);
      walk.crosses_stretches =
          space().in_stretches && std::all_of(walk.block.begin(), walk.block.end(),
                                              [&](const TileStep& step) { return crosses_stretches(step); });
      emit_row_values(s + 1, walk.after);
    }
    std::vector<Reg> stores;
    for (Reg r = 0; r < end(); ++r)
      if (at(r).op == LoopOp::store && !value(r).in_block) stores.push_back(r);
    emit_list(stores, plan_.walks.back().after, nullptr);
  }

  /// Does it read the whole row as it lies, and keep what it makes of it?
  bool crosses_stretches(const TileStep& step) const {
    using Where = ValueLocation::Where;
    const auto is_even = [&](long operand) {
      return space().operands[static_cast<std::size_t>(operand)].q.size() == 1;
    };
    if (step.kind == TileStep::Kind::load)
      return !step.patch && step.out.where == Where::whole_row && is_even(step.access);
    const ValueLocation& from = step.in[0];
    return step.kind == TileStep::Kind::fold &&
           (from.where == Where::whole_row || (from.where == Where::memory && is_even(from.offset)));
  }

  /// The values of one per row that become known after `walk` reductions (the reductions themselves are
  /// finished already).
  void emit_row_values(int walk, TileSteps& steps) {
    std::vector<Reg> order;
    for (Reg r = 0; r < end(); ++r) {
      const LoopOp op = at(r).op;
      if (op == LoopOp::reduce || op == LoopOp::store || value(r).in_block || value(r).walk != walk) continue;
      if (value(r).needed) order.push_back(r);
    }
    emit_list(order, steps, nullptr);
  }

  /// What walk s computes block by block: its reductions, in the last walk the stores, and all they need that
  /// is not kept from an earlier walk.
  std::vector<Reg> block_order(int s) {
    std::vector<bool> wanted(nodes_.size(), false);
    std::vector<Reg> result;
    for (Reg r = end(); r-- > 0;) {
      const LoopOp op = at(r).op;
      const bool folds = op == LoopOp::reduce && value(r).walk == s + 1 && value(r).needed;
      const bool stores = op == LoopOp::store && value(r).in_block && s == last_walk_;
      if (!folds && !stores && !wanted[static_cast<std::size_t>(r)]) continue;
      if (!folds && !stores && (!value(r).in_block || is_kept(r))) continue;
      result.push_back(r);
      for (int a = 0; a < arg_count(r); ++a) wanted[static_cast<std::size_t>(arg(r, a))] = true;
    }
    std::reverse(result.begin(), result.end());
    std::stable_partition(result.begin(), result.end(), [&](Reg r) { return at(r).op != LoopOp::store; });
    keep_for_later(s, result);
    return result;
  }
  bool is_kept(Reg r) { return location(r).where == ValueLocation::Where::whole_row; }

  /// Of what walk s computes, keeps the values that later walks need and that cost more than a load.
  void keep_for_later(int s, const std::vector<Reg>& computed) {
    for (const Reg r : computed) {
      const Instruction& i = at(r);
      const bool full = value(r).has_q && (value(r).has_p || space().p == 1);
      if (i.op == LoopOp::store || i.op == LoopOp::reduce || !full || is_direct_load(r)) continue;
      if (!is_used_after(r, s)) continue;
      const long bytes = row_values() * stored_size(held(r));
      if (kept_bytes_ + bytes > whole_row_budget) continue;
      kept_bytes_ += bytes;
      location(r) = new_location(r, ValueLocation::Where::whole_row, bytes);
    }
  }
  bool is_used_after(Reg r, int s) {
    for (Reg user = r + 1; user < end(); ++user) {
      if (!value(user).needed) continue;
      for (int a = 0; a < arg_count(user); ++a) {
        if (arg(user, a) != r) continue;
        const bool reduces = at(user).op == LoopOp::reduce;
        const int when = at(user).op == LoopOp::store ? last_walk_ : value(user).walk - (reduces ? 1 : 0);
        if (when > s) return true;
      }
    }
    return false;
  }
  /// How many values a register has that is kept for all blocks of an item.
  long row_values() const {
    if (space().mode == LoopMode::rows) return space().q_count * space().p_block;
    long count = space().p * space().q_block;
    for (const long extent : space().reduced_outer) count *= extent;
    return count;
  }

  // ---- steps ----

  bool is_dense(const Access& access, const LoopValue& v) const {
    if (v.has_q) return space().has_one_stride(access) && access.q.back() == 1;
    return !v.has_p || access.p == 1 || space().p_block == 1;
  }
  bool is_direct_load(Reg r) {
    if (at(r).op != LoopOp::load) return false;
    if ((in_memory_ && value(r).has_q) || is_folded_in_memory(r)) return true;
    const DType dtype = program_.code.operands[operand(r)].dtype;
    return held_type(dtype) == dtype && (!is_bool(dtype) || only_primitives_read(nodes_, r)) &&
           is_dense(space().operands[operand(r)], value(r)) && !is_read_after_stores(r);
  }
  /// A load of 16-bit floats that only folds read, which widen them.
  bool is_folded_in_memory(Reg load) {
    const DType dtype = program_.code.operands[operand(load)].dtype;
    if (space().mode == LoopMode::map || !value(load).has_q ||
        !is_dense(space().operands[operand(load)], value(load)))
      return false;
    for (Reg user = load + 1; user < end(); ++user)
      for (int a = 0; value(user).needed && a < arg_count(user); ++a)
        if (arg(user, a) == load && (a > 0 || !fold_in_memory(node(user), dtype, space().mode))) return false;
    return true;
  }
  /// A load whose memory another store may have written when a store reads it.
  bool is_read_after_stores(Reg load) const {
    const auto buffer_of = [&](Reg r) { return program_.code.operands[operand(r)].buffer; };
    bool is_stored = false, is_written = false;
    for (Reg r = load + 1; r < end(); ++r) {
      if (at(r).op != LoopOp::store) continue;
      is_stored = is_stored || arg(r, 0) == load;
      is_written = is_written || buffer_of(r) == buffer_of(load);
    }
    return is_stored && is_written;
  }

  ValueLocation new_location(Reg r, ValueLocation::Where where, long bytes) {
    ValueLocation p{.where = where, .size = stored_size(held(r))};
    p.has_p = value(r).has_p;
    p.has_q = value(r).has_q;
    p.offset = allocate(bytes);
    return p;
  }
  long allocate(long bytes) {
    // A long register begins further from a page boundary than the one before: none share L1 sets.
    const auto size = static_cast<std::size_t>(bytes);
    const std::size_t multiple = size < 2 * stream_skew ? line_bytes : stream_skew;
    const std::size_t offset = aligned_up(plan_.scratch_bytes, multiple);
    plan_.scratch_bytes = offset + aligned_up(size, multiple) + (size % page_bytes == 0 ? stream_skew : 0);
    return static_cast<long>(offset);
  }
  long values_in(bool has_p, bool has_q) const {
    return (has_p ? space().p_block : 1) * (has_q ? space().q_block : 1);
  }

  void emit_list(const std::vector<Reg>& order, TileSteps& steps, TileSteps* after_folds) {
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
  /// Frees the scratch of values that no step after `now` reads.
  void release(int now, const std::vector<int>& last_use) {
    std::erase_if(live_, [&](Reg r) {
      // A value read for the last time in this very step gives its place to the result: loops allow that.
      if (last_use[static_cast<std::size_t>(r)] > now) return false;
      free_[{location(r).size, values_in(location(r).has_p, location(r).has_q)}].push_back(
          location(r).offset);
      return true;
    });
  }

  ValueLocation scratch_for(Reg r) {
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

  void emit(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps, TileSteps* after_folds) {
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

  TileStep step_for(Reg r, TileStep::Kind kind) {
    TileStep step;
    step.kind = kind;
    step.has_p = value(r).has_p;
    step.has_q = value(r).has_q;
    return step;
  }
  void set_out(Reg r) {
    if (!is_kept(r)) location(r) = scratch_for(r);
  }
  /// The same, for a result that may be written to where it is stored.
  void set_out(Reg r, const std::vector<Reg>& order, std::size_t n) {
    const Reg target = is_kept(r) ? -1 : direct_store(r, order, n);
    if (target < 0) return set_out(r);
    location(r) = in_memory(r, at(target).operand, held(r));
  }
  ValueLocation new_scratch(DType type, bool has_p, bool has_q) {
    const long size = stored_size(type), offset = allocate(values_in(has_p, has_q) * size);
    return {ValueLocation::Where::scratch, offset, size, has_p, has_q};
  }
  ValueLocation in_memory(Reg r, int operand, DType type) {
    return {ValueLocation::Where::memory, operand, stored_size(type), value(r).has_p, value(r).has_q};
  }

  ValueLocation constant_location(const Instruction& i) {
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

  void emit_load(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps) {
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
    steps.push_back(step);
  }
  /// What lies apart in memory is brought together as it is: conversions are of dense rows.
  void move_patches(TileStep& step, Reg r) {
    const bool dense = is_dense(space().operands[operand(r)], value(r));
    if (dense && step.transfer) return;
    const long size = plan_.operand_sizes[operand(r)];
    step.patch = patch_op(size);
    if (!step.transfer) return;
    constexpr long largest_converted = 4;  // bytes
    if (packed_ < 0) packed_ = allocate(values_in(true, true) * largest_converted);
    step.packed = {ValueLocation::Where::scratch, packed_, size, step.has_p, step.has_q};
  }
  void emit_gather(Reg r, TileSteps& steps) {
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
  void emit_iota(Reg r, TileSteps& steps) {
    TileStep step = step_for(r, TileStep::Kind::iota);
    step.access = r;
    set_out(r);
    step.out = location(r);
    steps.push_back(step);
  }

  OpFn op_of(Reg r) {
    const LoopNode& n = node(r);
    if (n.fused >= 0) return fused_op(static_cast<Fused>(n.fused), n.operands);
    const Instruction& i = n.instruction;
    if (i.prim != Prim::cast) return loop_op(i.prim, n.operands);
    return cast_op(n.operands, n.held == held_type(i.type) ? i.type : n.held);
  }

  /// Where the values of r lie in the type `type`: they are converted if they are held in another one.
  /// Integers of the same size have the same bits, and the first bytes of a constant are those of narrower
  /// ones. Where a store reads nothing else, they may be converted to its memory.
  ValueLocation held_as(Reg r, DType type, TileSteps& steps, Reg store = -1) {
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

  void emit_prim(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps) {
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

  void emit_table(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps) {
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

  /// The store that this result may be written to at once, or -1. Not if something after it still reads
  /// memory: the target may be the same memory as an input.
  Reg direct_store(Reg r, const std::vector<Reg>& order, std::size_t n) {
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
  bool reads_memory(Reg user) {
    for (int a = 0; a < arg_count(user); ++a) {
      const Reg from = arg(user, a);
      if (is_direct_load(from) || at(from).op == LoopOp::tile) return true;
    }
    return false;
  }
  bool can_write_directly(Reg store, Reg r, DType type) {
    const LoopValue& s = value(store);
    if (s.has_p != value(r).has_p || s.has_q != value(r).has_q) return false;
    return type == program_.code.operands[operand(store)].dtype &&
           is_dense(space().operands[operand(store)], s);
  }

  ReduceOps reduce_of(Reg r) const {
    const DType type = node(r).operands;
    if (!node(r).squares) return reduce_ops(at(r).reduce, type);
    return arg_count(r) == 2 ? reduce_squared_differences_ops(type) : reduce_squares_ops(type);
  }

  void emit_reduce(Reg r, TileSteps& steps, TileSteps& after) {
    TileStep init = step_for(r, TileStep::Kind::init);
    init.reduce = reduce_of(r);
    init.out = {.where = ValueLocation::Where::scratch, .size = static_cast<long>(init.reduce.size)};
    init.out.has_p = value(r).has_p;
    init.out.has_q = value(r).has_q;
    init.out.offset = allocate(values_in(value(r).has_p, value(r).has_q) * init.out.size);
    (single_pass() ? steps : plan_.before).push_back(init);

    TileStep fold = init;
    fold.kind = TileStep::Kind::fold;
    fold.in_count = 1;
    fold.in[0] = fill_columns(arg(r, 0), node(r).operands, steps);
    if (arg_count(r) == 2) fold.in[1] = location(arg(r, 1));
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
    join.reduce = reduce_ops(at(r).reduce, held(r));
    join.in[0].size = static_cast<long>(join.reduce.size);
    join.in[0].offset = allocate(values_in(false, true) * join.in[0].size);
    after.push_back(join);
  }

  /// Folds need one value per column: repeats a value that has none.
  ValueLocation fill_columns(Reg r, DType type, TileSteps& steps) {
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

  void emit_store(Reg r, TileSteps& steps) {
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
    steps.push_back(step);
  }

  void estimate_cost() {
    long per_point = 1;
    for (Reg r = 0; r < end(); ++r)
      if (value(r).needed && at(r).op == LoopOp::prim && (value(r).in_block || fills_tile(r)))
        per_point += node(r).fused < 0 && is_heavy(at(r).prim) ? 8 : 1;
    long points = space().p_block * space().q_block;
    if (space().mode == LoopMode::rows) points = space().p_block * std::max(1L, space().q_count);
    if (space().mode == LoopMode::columns) points = std::max(1L, row_values());
    plan_.item_cost = per_point * points;
  }

  const LoopProgram& program_;
  LoopPlan plan_;
  std::vector<LoopNode> nodes_;
  std::vector<LoopValue> values_;
  std::vector<ValueLocation> locations_;
  std::vector<Reg> live_;
  std::map<std::pair<long, long>, std::vector<long>> free_;  // scratch offsets by value size and count
  std::optional<OperatorInMemory> in_memory_;
  int last_walk_ = 0;
  long kept_bytes_ = 0;
  long packed_ = -1;  // scratch of one block
};

}  // namespace

LoopPlan make_plan(const LoopProgram& program, LoopSpace space) {
  return Compiler(program, std::move(space)).compile();
}

}  // namespace tenon::cpu
