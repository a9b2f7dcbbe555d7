// Which type each register of a loop program is held in. A program computes integers in 64 bits; narrower
// ones give the same results where the values are known to fit, or where only low bits are used later. Floats
// of 16 and 8 bits are held as f32; they are not rounded again where they are known to be rounded, or where a
// store rounds them.
#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "kernels/cpu/held_type.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

using Int = std::int64_t;

/// The integers from low to high.
struct Range {
  Int low = std::numeric_limits<Int>::min();
  Int high = std::numeric_limits<Int>::max();

  bool contains(Range other) const { return low <= other.low && other.high <= high; }
};

Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// Of the values of a dtype, as they are held.
Range range_of(DType t) {
  return dispatch_real(t, [](auto tag) -> Range {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return {0, 1};
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, std::uint64_t>)
      return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    return {};
  });
}

DType narrowest(Range r) {
  for (const DType t : {DType::i8, DType::u8, DType::i16, DType::i32})
    if (range_of(t).contains(r)) return t;
  return DType::i64;
}
DType wider(DType a, DType b) { return size_of(a) >= size_of(b) ? a : b; }
/// The type that is enough to keep the low bits of `t`.
DType low_bits_of(DType t) {
  switch (t) {
    case DType::u16: return DType::i16;
    case DType::u32: return DType::i32;
    case DType::u64: return DType::i64;
    default: return t;
  }
}

enum class Kind {
  ring,     // the low bits of the result depend on the low bits of the operands alone
  shifts,   // the same, of its first operand
  selects,  // gives one of its operands
  exact,    // needs its operands as they are; what does not fit wraps as in any width
};
Kind kind_of(Prim p) {
  switch (p) {
    case Prim::add:
    case Prim::sub:
    case Prim::mul:
    case Prim::neg:
    case Prim::bit_not: return Kind::ring;
    case Prim::shift_left: return Kind::shifts;
    case Prim::select: return Kind::selects;
    default: return Kind::exact;
  }
}

template <class Overflows>
Range computed(std::initializer_list<std::pair<Int, Int>> operands, Overflows overflows) {
  Range result{std::numeric_limits<Int>::max(), std::numeric_limits<Int>::min()};
  for (const auto& [a, b] : operands) {
    Int y = 0;
    if (overflows(a, b, &y)) return {};
    result = hull(result, {y, y});
  }
  return result;
}
/// [-m, m] for the greatest magnitude m in r.
Range magnitude(Range r) {
  if (r.low == std::numeric_limits<Int>::min()) return {};
  const Int m = std::max(r.high, -r.low);
  return {-m, m};
}

/// The values of p on operands in the ranges a and b.
Range range_of(Prim p, Range a, Range b) {
  const bool positive = a.low >= 0 && b.low >= 0;
  switch (p) {
    case Prim::add:
      return computed({{a.low, b.low}, {a.high, b.high}},
                      [](Int x, Int y, Int* z) { return __builtin_add_overflow(x, y, z); });
    case Prim::sub:
      return computed({{a.low, b.high}, {a.high, b.low}},
                      [](Int x, Int y, Int* z) { return __builtin_sub_overflow(x, y, z); });
    case Prim::neg:
      return computed({{0, a.high}, {0, a.low}},
                      [](Int x, Int y, Int* z) { return __builtin_sub_overflow(x, y, z); });
    case Prim::mul:
      return computed({{a.low, b.low}, {a.low, b.high}, {a.high, b.low}, {a.high, b.high}},
                      [](Int x, Int y, Int* z) { return __builtin_mul_overflow(x, y, z); });
    case Prim::bit_not: return {~a.high, ~a.low};
    case Prim::abs:
      return a.low >= 0 ? a : magnitude(a).low == Range{}.low ? Range{} : Range{0, magnitude(a).high};
    case Prim::sign: return {-1, 1};
    case Prim::floor:
    case Prim::ceil:
    case Prim::trunc:
    case Prim::round: return a;
    case Prim::min:
    case Prim::fmin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Prim::max:
    case Prim::fmax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Prim::fmod:
    case Prim::shift_right: return hull(a, {0, 0});
    case Prim::remainder: return hull(hull(a, b), {0, 0});
    case Prim::div:
    case Prim::trunc_div:
    case Prim::floor_div: return positive ? Range{0, a.high} : magnitude(a);
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor: return range_of(narrowest(hull(a, b)));
    default: return {};
  }
}

class Chooser {
 public:
  Chooser(const LoopProgram& program, std::vector<LoopNode>& nodes)
      : program_(program),
        nodes_(nodes),
        ranges_(nodes.size()),
        rounded_(nodes.size()),
        demanded_(nodes.size()) {}

  void run() {
    for (Reg r = 0; r < end(); ++r) {
      ranges_[index(r)] = find_range(r);
      rounded_[index(r)] = find_rounded(r);
    }
    for (Reg r = end(); r-- > 0;) choose(r);
    std::vector<bool> same(nodes_.size());
    for (Reg r = 0; r < end(); ++r) same[index(r)] = is_same_value(r);
    for (Reg r = 0; r < end(); ++r) {
      const auto skip = [&](Reg& a) {
        while (a >= 0 && same[index(a)]) a = arg(a, 0);
      };
      for (Reg& a : node(r).instruction.args) skip(a);
      for (Reg& a : node(r).more) skip(a);
      if (is_cast(r)) node(r).operands = node(arg(r, 0)).held;
    }
  }

 private:
  static std::size_t index(Reg r) { return static_cast<std::size_t>(r); }
  Reg end() const { return static_cast<Reg>(nodes_.size()); }
  LoopNode& node(Reg r) { return nodes_[index(r)]; }
  const Instruction& at(Reg r) const { return nodes_[index(r)].instruction; }
  Reg arg(Reg r, int i) const { return nodes_[index(r)].arg(i); }
  DType stored_type(Reg r) const { return program_.code.operands[index(at(r).operand)].dtype; }
  bool is_integer(Reg r) const { return at(r).op != LoopOp::store && is_integral(program_.type_of(r)); }
  bool is_cast(Reg r) const {
    return at(r).op == LoopOp::prim && at(r).prim == Prim::cast && nodes_[index(r)].fused < 0;
  }
  bool is_select(Reg r) const { return at(r).prim == Prim::select && nodes_[index(r)].fused < 0; }
  bool is_clamp(Reg r) const { return nodes_[index(r)].fused == static_cast<int>(Fused::clamp); }
  /// By a test of values of the same type: select(arg 0, arg 1 are tested, arg 2, arg 3).
  bool is_select_by_test(Reg r) const { return nodes_[index(r)].fused >= static_cast<int>(Fused::select_lt); }
  Range range(Reg r) const { return ranges_[index(r)]; }
  Range range_of_operands(Reg r) const {
    const int first = is_select(r) ? 1 : 0;
    Range all = range(arg(r, first));
    for (int a = first + 1; a < nodes_[index(r)].arg_count; ++a) all = hull(all, range(arg(r, a)));
    return all;
  }

  Range find_range(Reg r) const {
    const Instruction& i = at(r);
    if (i.op == LoopOp::store || !is_integer(r)) return {};
    switch (i.op) {
      case LoopOp::constant: return {i.integer, i.integer};
      case LoopOp::load:
      case LoopOp::gather: return range_of(stored_type(r));
      case LoopOp::iota: return {0, std::max<Int>(0, program_.shape.dims[index(i.dim)] - 1)};
      case LoopOp::reduce: return gives_element(r) && program_.row_length() > 0 ? range(i.args[0]) : Range{};
      case LoopOp::prim: break;
      default: return {};
    }
    if (is_clamp(r))
      return range_of(Prim::min, range_of(Prim::max, range(i.args[0]), range(i.args[1])), range(i.args[2]));
    if (is_select(r)) return range_of_operands(r);
    if (is_select_by_test(r)) return hull(range(arg(r, 2)), range(arg(r, 3)));
    if (i.prim != Prim::cast)
      return range_of(i.prim, range(i.args[0]), i.args[1] < 0 ? Range{0, 0} : range(i.args[1]));
    const Range target = range_of(i.type);
    if (is_integer(i.args[0])) return target.contains(range(i.args[0])) ? range(i.args[0]) : target;
    return program_.type_of(i.args[0]) == DType::boolean ? Range{0, 1} : target;
  }
  bool gives_element(Reg r) const { return at(r).reduce == Reduce::min || at(r).reduce == Reduce::max; }

  /// The small float type that has all values of r, if there is one.
  std::optional<DType> find_rounded(Reg r) const {
    const LoopNode& n = nodes_[index(r)];
    const Instruction& i = n.instruction;
    switch (i.op) {
      case LoopOp::load:
      case LoopOp::gather: return rounded_type(stored_type(r));
      case LoopOp::reduce: return gives_element(r) ? rounded_[index(i.args[0])] : std::nullopt;
      case LoopOp::prim: break;
      default: return std::nullopt;
    }
    if (is_clamp(r)) {
      const auto raised = common_rounded(i.args[0], i.args[1]);
      return raised && raised == common_rounded(i.args[0], i.args[2]) ? raised : std::nullopt;
    }
    if (is_select_by_test(r)) return common_rounded(i.args[2], n.more[0]);
    if (n.fused >= 0)
      return n.fused == static_cast<int>(Fused::relu) ? rounded_[index(i.args[0])] : std::nullopt;
    switch (i.prim) {
      case Prim::cast: return rounded_type(i.type);
      case Prim::neg:
      case Prim::abs:
      case Prim::floor:
      case Prim::ceil:
      case Prim::trunc:
      case Prim::round: return with_minus_zero(rounded_[index(i.args[0])]);
      case Prim::min:
      case Prim::max:
      case Prim::fmin:
      case Prim::fmax: return common_rounded(i.args[0], i.args[1]);
      case Prim::select: return common_rounded(i.args[1], i.args[2]);
      default: return std::nullopt;
    }
  }
  static std::optional<DType> rounded_type(DType t) {
    return is_small_float(t) ? std::optional(t) : std::nullopt;
  }
  /// Of a result that may be -0, which two types lack.
  static std::optional<DType> with_minus_zero(std::optional<DType> t) {
    return t == DType::f8e4m3fnuz || t == DType::f8e5m2fnuz ? std::nullopt : t;
  }
  std::optional<DType> common_rounded(Reg a, Reg b) const {
    if (at(a).op == LoopOp::constant) return rounds_to_itself(a, rounded_[index(b)]);
    if (at(b).op == LoopOp::constant) return rounds_to_itself(b, rounded_[index(a)]);
    return rounded_[index(a)] == rounded_[index(b)] ? rounded_[index(a)] : std::nullopt;
  }
  std::optional<DType> rounds_to_itself(Reg constant, std::optional<DType> type) const {
    const auto value = static_cast<float>(at(constant).value);
    return type && cast<float>(*type, value) == value ? type : std::nullopt;
  }
  /// Is r read by stores to `type` alone?
  bool only_stored_as(Reg r, DType type) const {
    for (Reg user = r + 1; user < end(); ++user)
      for (int a = 0; a < nodes_[index(user)].arg_count; ++a)
        if (arg(user, a) == r && (at(user).op != LoopOp::store || stored_type(user) != type)) return false;
    return true;
  }

  /// The type that stores alone write r in, if they all do in one that is held as it is: then in one pass.
  /// Casts that change nothing do not count.
  std::optional<DType> type_of_stores(Reg r) const {
    std::optional<DType> result;
    for (Reg user = r + 1; user < end(); ++user) {
      if (!nodes_[index(user)].reads(r)) continue;
      std::optional<DType> type;
      if (at(user).op == LoopOp::store)
        type = stored_type(user);
      else if (is_cast(user) && is_integer(user) && range_of(at(user).type).contains(range(r)))
        type = type_of_stores(user);
      if (!type || held_type(*type) != *type || result.value_or(*type) != *type) return std::nullopt;
      result = type;
    }
    return result;
  }

  void demand(Reg r, DType type) {
    if (!is_integer(r)) return;
    std::optional<DType>& demanded = demanded_[index(r)];
    demanded = demanded ? wider(*demanded, type) : type;
  }
  void demand_operands(Reg r, DType type) {
    for (int a = 0; a < nodes_[index(r)].arg_count; ++a) demand(arg(r, a), type);
  }
  /// The bits of r that its users read (as DemandedBits of LLVM).
  DType demanded(Reg r) const { return demanded_[index(r)].value_or(DType::i64); }

  void choose(Reg r) {
    const Instruction& i = at(r);
    LoopNode& n = node(r);
    if (i.op == LoopOp::store) {
      n.held = n.operands = held_type(stored_type(r));
      return demand(i.args[0], low_bits_of(stored_type(r)));
    }
    n.held = n.operands = program_.type_of(r);
    switch (i.op) {
      case LoopOp::load: n.held = held_type(stored_type(r)); return;
      case LoopOp::gather:
        n.held = held_type(stored_type(r));
        n.operands = DType::i64;
        return demand_operands(r, DType::i64);
      case LoopOp::reduce: return choose_reduction(r);
      case LoopOp::prim: return choose_prim(r);
      default: return;
    }
  }

  void choose_reduction(Reg r) {
    LoopNode& n = node(r);
    const Reg from = arg(r, 0);
    n.operands = program_.type_of(from);
    if (!is_integer(from)) return;
    // An extreme of no elements is the lowest or highest i64.
    n.operands = program_.row_length() > 0 ? narrowest(range(from)) : DType::i64;
    if (at(r).reduce == Reduce::sum && size_of(demanded(r)) < size_of(DType::i64)) {  // low bits are enough
      n.held = n.operands = demanded(r);
      return demand(from, n.operands);
    }
    if (!gives_element(r)) n.operands = wider(DType::i32, n.operands);
    n.held = gives_element(r) ? n.operands : DType::i64;
    demand(from, DType::i64);
  }

  void choose_prim(Reg r) {
    LoopNode& n = node(r);
    if (is_select_by_test(r) && is_integer(r)) {
      n.held = n.operands = narrowest(range_of_operands(r));
      return demand_operands(r, DType::i64);
    }
    const Prim p = is_clamp(r) ? Prim::min : at(r).prim;
    if (n.fused >= 0 && !is_clamp(r)) return;
    if (p == Prim::cast) return choose_cast(r);
    const Reg operand = arg(r, p == Prim::select ? 1 : 0);
    n.operands = program_.type_of(operand);
    if (!is_integer(operand)) return;
    if (!is_integer(r)) {  // a test
      n.operands = narrowest(range_of_operands(r));
      return demand_operands(r, DType::i64);
    }
    const DType exact = narrowest(range(r));
    const Kind kind = kind_of(p);
    if (kind == Kind::exact) {
      DType type = narrowest(range_of_operands(r));
      const bool fits = range_of(type).contains(range(r)) || size_of(demanded(r)) <= size_of(type);
      if (!fits) type = narrowest(hull(range_of_operands(r), range(r)));
      n.held = n.operands = type;
      return demand_operands(r, DType::i64);
    }
    DType type = size_of(demanded(r)) < size_of(exact) ? demanded(r) : exact;
    if (kind == Kind::shifts) {
      type = wider(type, narrowest(range(arg(r, 1))));
      demand(arg(r, 1), DType::i64);
    }
    n.held = n.operands = type;
    demand(operand, type);
    if (kind != Kind::shifts && arity(p) > 1) demand(arg(r, arity(p) - 1), type);
  }

  void choose_cast(Reg r) {
    LoopNode& n = node(r);
    const Reg from = arg(r, 0);
    n.held = held_type(at(r).type);
    // A store rounds what is held as f32 anyway.
    const bool is_rounded_later = rounded_type(at(r).type) && program_.type_of(from) != DType::f32;
    if (is_rounded_later && only_stored_as(r, at(r).type)) n.instruction.type = DType::f32;
    if (!is_integer(r)) return demand(from, DType::i64);
    if (!is_integer(from)) {
      if (program_.type_of(from) == DType::boolean) n.held = type_of_stores(r).value_or(DType::i8);
      return;
    }
    demand(from, range_of(at(r).type).contains(range(from)) ? demanded(r) : low_bits_of(at(r).type));
  }
  /// Does the cast r hold what its argument holds, in the same type?
  bool is_same_value(Reg r) {
    if (!is_cast(r)) return false;
    const Reg from = arg(r, 0);
    const DType type = at(r).type;
    if (at(from).op == LoopOp::constant) return false;
    if (!is_integer(r) || !is_integer(from)) {
      if (node(from).held != node(r).held) return false;
      return !rounded_type(type) || rounded_[index(from)] == type || only_stored_as(r, type);
    }
    if (range_of(type).contains(range(from))) return true;
    return node(from).held == node(r).held && held_type(type) == type;
  }

  const LoopProgram& program_;
  std::vector<LoopNode>& nodes_;
  std::vector<Range> ranges_;
  std::vector<std::optional<DType>> rounded_;
  std::vector<std::optional<DType>> demanded_;
};

}  // namespace

void choose_held_types(const LoopProgram& program, std::vector<LoopNode>& nodes) {
  Chooser(program, nodes).run();
}

}  // namespace tenon::cpu
