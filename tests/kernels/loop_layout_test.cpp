// Loops read and write elements of every size wherever they lie: permuted, repeated, reversed, with gaps.
#include <cstdlib>
#include <numeric>

#include "tests/kernels/dense_program.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"
#include "tests/kernels/loop_cases.h"

namespace tenon::cpu {
namespace {

class LoopLayout : public OnEveryIsa {};
TENON_EVERY_ISA(LoopLayout);

/// Moves and maxima, which are exact, between operands of random dtypes in random layouts.
class RandomLayouts {
 public:
  explicit RandomLayouts(unsigned seed) : random_(seed), program_("layouts_" + std::to_string(seed), {}) {}

  LoopProgram make() {
    constexpr std::array extents = {1, 2, 2, 3, 4, 5, 8, 9, 16, 17, 33, 70};
    const int rank = 1 + pick(5);
    for (std::int64_t points = 1; static_cast<int>(program_.shape.dims.size()) < rank;) {
      const std::int64_t extent = extents[static_cast<std::size_t>(pick(extents.size()))];
      program_.shape.dims.push_back(points * extent > 6000 ? 2 : extent);
      points *= program_.shape.dims.back();
    }
    if (pick(2) == 0) program_.code.reduced = 1 + pick(std::min(rank, 2));
    const DType type = any_dtype(), result = pick(2) == 0 ? type : any_dtype();
    const auto load = [&] { return program_.cast(type, program_.load(operand(dtype_near(type), true))); };
    Reg value = load();
    if (program_.code.reduced > 0 && !is_bool(type)) store(type, program_.reduce(Reduce::max, value), true);
    for (int n = pick(3); n > 0; --n)
      value = program_.prim(is_bool(type) ? Prim::logical_or : Prim::max, value, load());
    store(result, program_.cast(result, value), false);
    if (pick(2) == 0) store(type, value, false);
    return std::move(program_);
  }

 private:
  int pick(std::size_t count) { return static_cast<int>(random_() % count); }
  int pick(int count) { return pick(static_cast<std::size_t>(count)); }
  DType any_dtype() {
    const int chosen = pick(loop_cases::real_dtypes.size() + 1);
    return chosen == 0 ? DType::f8e4m3fn : loop_cases::real_dtypes[static_cast<std::size_t>(chosen - 1)];
  }
  DType dtype_near(DType type) { return pick(3) == 0 ? any_dtype() : type; }

  void store(DType dtype, Reg value, bool of_row) {
    const bool varies = varies_over_row(program_)[static_cast<std::size_t>(value)];
    program_.store(operand(dtype, false, of_row && !varies), value);
  }
  /// Dims are in a random order; some lie apart, backwards, or, of a load, have one element.
  LoopOperand operand(DType dtype, bool repeats, bool of_row = false) {
    const auto& dims = program_.shape.dims;
    const std::size_t kept = dims.size() - static_cast<std::size_t>(program_.code.reduced);
    std::vector<std::size_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    if (pick(3) != 0) std::shuffle(order.begin(), order.end(), random_);
    const bool repeats_some = repeats && pick(2) == 0, has_gaps = pick(3) == 0, reverses = pick(6) == 0;
    LoopOperand result = {.buffer = buffers_++, .dtype = dtype, .strides = Dims(dims.size(), 0)};
    std::int64_t stride = has_gaps ? 1 + pick(3) : 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t d = order[i];
      if ((repeats_some && pick(2) == 0) || (of_row && d >= kept)) continue;
      const bool backwards = reverses && pick(2) == 0;
      result.strides[d] = backwards ? -stride : stride;
      if (backwards) result.offset += (dims[d] - 1) * stride;
      stride *= dims[d] + (has_gaps ? pick(3) : 0);
    }
    return result;
  }

  std::mt19937 random_;
  LoopProgram program_;
  int buffers_ = 0;
};

TEST_P(LoopLayout, ElementsOfEverySizeFromAndToAnyLayout) {
  const char* const first = std::getenv("TENON_RANDOM_LOOPS");
  const auto seed = static_cast<unsigned>(first ? std::atoi(first) : 1);
  for (unsigned i = 0; i < (first ? 5000U : 300U) && !HasFailure(); ++i)
    expect_matches_reference(RandomLayouts(seed + i).make());
}

TEST_P(LoopLayout, TransposedWhileTheyAreComputed) {
  for (const DType dtype : {DType::u8, DType::u16, DType::bf16, DType::f32, DType::i64})
    for (const auto& [rows, columns] :
         {std::pair{3, 700}, {700, 3}, {5, 130}, {130, 9}, {33, 65}, {64, 48}, {17, 2}}) {
      LoopProgram p = program_over({2, rows, columns});
      const Reg across = p.load({0, dtype, {rows * columns, 1, rows}}), along = p.load(dense(p, 1, dtype));
      const Reg both = p.prim(Prim::max, across, along);
      p.store({2, dtype, {rows * columns, 1, rows}}, both);
      p.store(dense(p, 3, dtype), both);
      expect_matches_reference(p);
    }
}

TEST_P(LoopLayout, NormsThatLieAcrossTheirRows) {
  for (const auto& [rows, length] : {std::pair{700, 3}, {40, 16}, {33, 130}, {5, 3000}})
    for (const bool reads_across : {false, true}) {
      LoopProgram p = program_over({2, rows, length}, 1);
      const Dims across = {rows * length, 1, rows}, along = {rows * length, length, 1};
      const Reg x = p.load({0, DType::f32, reads_across ? across : along});
      p.store({1, DType::bf16, reads_across ? along : across},
              p.prim(Prim::sub, x, p.reduce(Reduce::max, x)));
      expect_matches_reference(p);
    }
}

TEST_P(LoopLayout, ShortRowsWithOperandsThatRepeat) {
  for (const DType dtype : {DType::i8, DType::f16, DType::f32, DType::f64})
    for (const std::int64_t row : {2, 3, 7, 12, 16, 24, 31, 33})
      for (const std::int64_t middle : {2, 3, 40}) {
        LoopProgram p = program_over({5, middle, row});
        const Reg repeated = p.load({0, dtype, {middle, 1, 0}}), tiled = p.load({1, dtype, {row, 0, 1}});
        const Reg of_channel = p.load({2, dtype, {0, 1, 0}}),
                  half = p.load({3, dtype, {2 * middle * row, 2 * row, 1}, row});
        p.store(dense(p, 4, dtype),
                p.prim(Prim::max, p.prim(Prim::max, repeated, tiled), p.prim(Prim::max, of_channel, half)));
        p.store({5, dtype, {middle * (row + 1), row + 1, 1}}, repeated);
        expect_matches_reference(p);
      }
}

/// Both parts of pairs, which lie side by side in a buffer whose dims have these strides, in pairs.
std::array<LoopOperand, 2> parts_of(int buffer, DType dtype, Dims strides) {
  for (auto& stride : strides) stride *= 2;
  return {LoopOperand{.buffer = buffer, .dtype = dtype, .strides = strides},
          LoopOperand{.buffer = buffer, .dtype = dtype, .strides = strides, .offset = 1}};
}

TEST_P(LoopLayout, ProductsOfPairs) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::f16})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 2100}, {3, 7}, {70, 33}, {9, 1}, {33, 64}})
      for (const bool repeats : {false, true}) {
        LoopProgram p = program_over({rows, columns});
        const auto [a, b] = parts_of(0, dtype, {columns, 1});
        const auto [c, d] = parts_of(1, dtype, {repeats ? 0 : columns, 1});
        const auto [re, im] = parts_of(2, dtype, {columns, 1});
        const Reg y = p.load(b), x = p.load(a), u = p.load(c), v = p.load(d);
        p.store(im, p.prim(Prim::add, p.prim(Prim::mul, x, v), p.prim(Prim::mul, y, u)));
        p.store(re, p.prim(Prim::sub, p.prim(Prim::mul, x, u), p.prim(Prim::mul, y, v)));
        expect_matches_reference(p);
      }
}

TEST_P(LoopLayout, LargestOfBothPartsOfPairs) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const auto& [rows, length] : {std::pair{1, 5000}, {700, 3}, {40, 16}, {33, 130}})
      for (const bool across : {false, true}) {
        LoopProgram p = program_over({rows, length}, 1);
        const auto [re, im] = parts_of(0, dtype, across ? Dims{1, rows} : Dims{length, 1});
        const auto [most_re, most_im] = parts_of(1, dtype, {1, 0});
        p.store(most_re, p.reduce(Reduce::max, p.load(re)));
        p.store(most_im, p.reduce(Reduce::max, p.load(im)));
        expect_matches_reference(p);
      }
}

TEST_P(LoopLayout, PairsByASignForEachPart) {
  for (const DType dtype : {DType::i8, DType::f16, DType::f32, DType::f64})
    for (const auto& [rows, columns] : {std::pair{1, 2100}, {511, 509}, {40, 9}, {3, 700}, {2, 2}})
      for (const bool across : {false, true}) {
        LoopProgram p = program_over({rows, columns, 2});
        const Reg pairs = p.load({0, dtype, across ? Dims{2, 2 * rows, 1} : Dims{2 * columns, 2, 1}});
        p.store(dense(p, 2, dtype), p.prim(Prim::max, pairs, p.load({1, dtype, {0, 0, 1}})));
        p.store({3, dtype, {2, 2 * rows, 1}}, pairs);
        expect_matches_reference(p);
      }
}

}  // namespace
}  // namespace tenon::cpu
