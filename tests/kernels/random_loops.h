// Random loop programs of integers, which every kernel computes exactly.
#pragma once
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/loop_program.h"

namespace tenon {

class RandomLoop {
 public:
  explicit RandomLoop(unsigned seed) : random_(seed), program_("random_" + std::to_string(seed), {}) {}

  LoopProgram make() {
    const int rank = one_of({1, 2, 2, 3, 4});
    for (int d = 0; d < rank; ++d) program_.shape.dims.push_back(one_of({1, 2, 3, 5, 8, 16, 33, 70}));
    program_.code.reduced = pick(rank + 1);
    for (int n = 1 + pick(3); n > 0; --n) add_load();
    for (int n = 3 + pick(10); n > 0; --n) add_value();
    for (int n = 1 + pick(3); n > 0; --n) add_store(any());
    add_store(values_.back());
    return std::move(program_);
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::int64_t one_of(std::vector<std::int64_t> values) {
    return values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))];
  }
  std::size_t rank() const { return program_.shape.dims.size(); }
  Reg any() { return values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))]; }

  /// The strides of an operand that lies along the dims for which `has` holds, in a random order, with few
  /// gaps.
  template <class Has>
  std::vector<std::int64_t> strides(Has&& has) {
    std::vector<std::size_t> order(rank());
    std::iota(order.begin(), order.end(), 0);
    if (pick(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::int64_t> result(rank(), 0);
    std::int64_t stride = one_of({1, 1, 1, 2});
    for (std::size_t i = order.size(); i-- > 0;) {
      if (!has(order[i])) continue;
      result[order[i]] = stride;
      stride *= program_.shape.dims[order[i]] + one_of({0, 0, 0, 0, 1});
    }
    return result;
  }

  void add_load() {
    const bool whole = pick(2) == 0;
    const LoopOperand operand{.buffer = buffers_++,
                              .dtype = integer(),
                              .strides = strides([&](std::size_t) { return whole || pick(2) == 0; }),
                              .offset = pick(3)};
    loaded_.push_back(operand);
    values_.push_back(program_.load(operand));
  }

  void add_value() {
    if (program_.code.reduced > 0 && pick(4) == 0) {
      constexpr std::array kinds = {Reduce::sum, Reduce::min, Reduce::max, Reduce::argmax};
      values_.push_back(program_.reduce(kinds[static_cast<std::size_t>(pick(4))], any()));
    } else if (pick(6) == 0) {
      values_.push_back(program_.iota(pick(static_cast<int>(rank()))));
    } else if (pick(3) == 0) {
      values_.push_back(program_.cast(integer(), any()));
    } else {
      add_prim();
    }
  }

  /// Divisors are not 0.
  void add_prim() {
    constexpr std::array divisions = {Prim::floor_div, Prim::trunc_div, Prim::remainder, Prim::fmod};
    constexpr std::array of_one = {Prim::neg, Prim::abs, Prim::sign, Prim::bit_not, Prim::round};
    constexpr std::array of_two = {Prim::add,     Prim::sub,        Prim::mul,         Prim::max,
                                   Prim::min,     Prim::fmin,       Prim::bit_and,     Prim::bit_or,
                                   Prim::bit_xor, Prim::shift_left, Prim::shift_right, Prim::pow};
    constexpr std::array tests = {Prim::lt, Prim::ge, Prim::eq, Prim::logical_and, Prim::signbit};
    switch (pick(5)) {
      case 0:
        return values_.push_back(
            program_.prim(of(divisions), any(), program_.constant_int(one_of({97, 3, -1, -7, 1000}))));
      case 1: return values_.push_back(program_.prim(of(of_one), any()));
      case 2: {
        const Prim test = of(tests);
        const Reg chosen = program_.prim(test, any(), arity(test) > 1 ? any() : -1);
        return values_.push_back(program_.prim(Prim::select, chosen, any(), any()));
      }
      case 3:
        return values_.push_back(
            program_.prim(of(of_two), any(), program_.constant_int(one_of({0, 1, 2, 7, -1, 200, 70000}))));
      default: return values_.push_back(program_.prim(of(of_two), any(), any()));
    }
  }
  template <class T, std::size_t N>
  T of(const std::array<T, N>& choices) {
    return choices[static_cast<std::size_t>(pick(N))];
  }
  DType integer() {
    constexpr std::array dtypes = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                                   DType::i32, DType::u32, DType::i64};
    return of(dtypes);
  }

  /// Where each point has a place, to memory of its own or over what was loaded; else one value for each row.
  void add_store(Reg value) {
    const LoopProgram with_value = program_;
    const bool varies = varies_over_row(with_value)[static_cast<std::size_t>(value)];
    const bool of_row = program_.code.reduced > 0 && !varies && pick(2) == 0;
    const std::size_t written = of_row ? rank() - static_cast<std::size_t>(program_.code.reduced) : rank();
    if (!of_row && pick(3) == 0) {
      for (const LoopOperand& operand : loaded_)
        if (covers(operand) && !is_stored(operand.buffer)) return program_.store(operand, value);
    }
    program_.store({.buffer = buffers_++,
                    .dtype = pick(2) == 0 ? DType::i64 : integer(),
                    .strides = strides([&](std::size_t d) { return d < written; })},
                   value);
  }
  bool covers(const LoopOperand& operand) const {
    for (std::size_t d = 0; d < rank(); ++d)
      if (operand.strides[d] == 0) return false;
    return true;
  }
  bool is_stored(int buffer) const {
    return std::any_of(program_.code.instructions.begin(), program_.code.instructions.end(),
                       [&](const Instruction& i) {
                         return i.op == LoopOp::store &&
                                program_.code.operands[static_cast<std::size_t>(i.operand)].buffer == buffer;
                       });
  }

  std::mt19937 random_;
  LoopProgram program_;
  std::vector<LoopOperand> loaded_;
  std::vector<Reg> values_;
  int buffers_ = 0;
};

}  // namespace tenon
