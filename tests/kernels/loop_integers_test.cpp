// Loop programs on integers: selects, shifts, powers and quotients, in the width that they are held in.
#include <array>
#include <limits>
#include <vector>

#include "tests/kernels/dense_program.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class LoopIntegers : public OnEveryIsa {};
TENON_EVERY_ISA(LoopIntegers);

/// One loop, of the width of what is tested and selected; or two, where these differ.
TEST_P(LoopIntegers, SelectsByTestsOfIntegers) {
  constexpr std::array integers = {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64};
  for (const DType tested : integers)
    for (const DType selected : integers)
      for (const Prim test : {Prim::lt, Prim::le, Prim::gt, Prim::ge, Prim::eq, Prim::ne})
        for (const std::int64_t n : {1, 37, 1025}) {
          LoopProgram p = program_over({3, n});
          const Reg a = p.load(dense(p, 0, tested)), b = p.load({1, tested, {1, 0}});
          const Reg c = p.load(dense(p, 2, selected)), none = p.constant_int(300);
          const Reg condition = p.prim(test, a, b), is_zero = p.prim(test, a, p.constant_int(0));
          p.store(dense(p, 3, selected), p.prim(Prim::select, condition, c, a));
          p.store(dense(p, 4, DType::i64), p.prim(Prim::select, condition, none, c));
          p.store(dense(p, 5, tested), p.prim(Prim::select, is_zero, p.constant_int(1), p.constant_int(0)));
          expect_matches_reference(p, [&](LoopBuffers& buffers) {
            if (tested == DType::i64) buffers.set(0, 0, {.whole = std::numeric_limits<std::int64_t>::min()});
          });
        }
}

TEST_P(LoopIntegers, ShiftsOfIntegers) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64})
    for (const Prim shift : {Prim::shift_left, Prim::shift_right})
      for (const std::int64_t n : {1, 37, 1025}) {
        for (const std::int64_t places : {-1, 0, 1, 4, 7, 8, 15, 16, 40}) {
          LoopProgram p = program_over({3, n});
          const Reg x = p.load(dense(p, 0, dtype));
          p.store(dense(p, 1, dtype), p.prim(shift, x, p.constant_int(places)));
          expect_matches_reference(p);
        }
        LoopProgram p = program_over({3, n});
        const Reg x = p.load(dense(p, 0, dtype)), y = p.load(dense(p, 1, dtype));
        p.store(dense(p, 2, dtype), p.prim(shift, x, y));
        expect_matches_reference(p);
      }
}

TEST_P(LoopIntegers, ProductsPlusANumberWrapAround) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64})
    for (const std::int64_t n : {1, 37, 1025})
      for (const Dims& right : {Dims{n, 1}, Dims{1, 0}, Dims{0, 1}, Dims{0, 0}}) {
        LoopProgram p = program_over({3, n});
        const Reg x = p.load(dense(p, 0, dtype)), y = p.load({1, dtype, right});
        const Reg product = p.cast(dtype, p.prim(Prim::mul, x, y));
        p.store(dense(p, 2, dtype), p.prim(Prim::add, product, x));
        p.store(dense(p, 3, dtype), p.prim(Prim::add, y, p.prim(Prim::mul, y, x)));
        p.store(dense(p, 4, DType::i64), p.prim(Prim::add, p.prim(Prim::mul, x, x), y));
        expect_matches_reference(p, [&](LoopBuffers& buffers) {
          const std::int64_t large = std::int64_t{1} << (8 * size_of(dtype) - 2);
          buffers.set(0, 0, {.whole = large});
          buffers.set(1, 0, {.whole = 7});
        });
      }
}

TEST_P(LoopIntegers, SumsOfAnyTypeThatWrapAround) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64})
    for (const DType stored : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64})
      for (const std::int64_t length : {1, 5, 37, 300, 5000})
        for (const std::int64_t rows : {1, 17}) {
          LoopProgram p = program_over({rows, length}, 1);
          const Reg x = p.load(dense(p, 0, dtype)), y = p.load({1, dtype, {0, 1}});
          p.store({2, stored, {1, 0}}, p.reduce(Reduce::sum, p.prim(Prim::mul, x, y)));
          p.store({3, stored, {1, 0}}, p.reduce(Reduce::sum, x));
          p.store({4, stored, {1, 0}}, p.reduce(Reduce::sum, p.cast(dtype, p.prim(Prim::mul, x, y))));
          expect_matches_reference(p);
          if (length > 300) continue;
          LoopProgram across = program_over({rows, length}, 1);  // memory runs across the rows
          const Reg z = across.load({0, dtype, {1, rows}});
          across.store({1, stored, {1, 0}}, across.reduce(Reduce::sum, z));
          across.store({2, stored, {1, 0}}, across.reduce(Reduce::sum, across.prim(Prim::mul, z, z)));
          expect_matches_reference(across);
        }
}

TEST_P(LoopIntegers, PowersOfIntegers) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64})
    for (const std::int64_t exponent : {-3, 0, 1, 2, 5, 63, 64})
      for (const std::int64_t n : {1, 37, 1025}) {
        LoopProgram p = program_over({3, n});
        const Reg x = p.load(dense(p, 0, dtype)), y = p.load(dense(p, 1, dtype));
        p.store(dense(p, 2, dtype), p.prim(Prim::pow, x, p.constant_int(exponent)));
        p.store(dense(p, 3, DType::i64), p.prim(Prim::pow, p.constant_int(exponent), x));
        p.store(dense(p, 4, dtype), p.prim(Prim::pow, x, y));
        expect_matches_reference(p);
      }
}

TEST_P(LoopIntegers, QuotientsOfLargeIntegersAreExact) {
  constexpr std::int64_t limit = std::int64_t{1} << 52, lowest = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> numbers = {1,  -1,     2,          3,
                                       -7, lowest, lowest + 1, std::numeric_limits<std::int64_t>::max()};
  for (std::int64_t near = -2; near <= 2; ++near)
    for (const std::int64_t n : {limit, -limit, limit / 3, limit / 7 * 7}) numbers.push_back(n + near);
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (const Prim prim : {Prim::floor_div, Prim::trunc_div, Prim::remainder, Prim::fmod})
    for (const std::int64_t skip : {0, 8}) {  // with and without what is larger than 2^52
      LoopProgram p = program_over({count - skip, count - skip});
      const Reg a = p.load({0, DType::i64, {1, 0}}), b = p.load({1, DType::i64, {0, 1}});
      p.store(dense(p, 2, DType::i64), p.prim(prim, a, b));
      expect_matches_reference(p, [&](LoopBuffers& buffers) {
        for (std::int64_t i = 0; i < count - skip; ++i)
          for (const std::size_t side : {0, 1})
            buffers.set(side, i, {.whole = numbers[static_cast<std::size_t>(i + skip)] / (skip > 0 ? 2 : 1)});
      });
    }
}

}  // namespace
}  // namespace tenon::cpu
