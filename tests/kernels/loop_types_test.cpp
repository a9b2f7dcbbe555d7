// Loop programs on types that kernels read as they lie: 16-bit floats, bools, whole numbers.
#include <limits>

#include "tests/kernels/dense_program.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class LoopTypes : public OnEveryIsa {};
TENON_EVERY_ISA(LoopTypes);

TEST_P(LoopTypes, ClampsAreTheirMaximumAndMinimum) {
  for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::i8, DType::i32, DType::i64, DType::u8})
    for (const std::int64_t n : {1, 15, 1025}) {
      LoopProgram p = program_over({3, n});
      const Reg x = p.load(dense(p, 0, dtype)), low = p.load({1, dtype, {1, 0}});
      const Reg one = is_float(dtype) ? p.constant(1, compute_type(dtype)) : p.constant_int(1);
      p.store(dense(p, 2, dtype), p.prim(Prim::min, p.prim(Prim::max, x, low), one));
      p.store(dense(p, 3, dtype), p.prim(Prim::min, one, p.prim(Prim::max, low, x)));
      expect_matches_reference(p, [&](LoopBuffers& b) {
        if (!is_float(dtype)) return;
        b.set(0, n, {.real = std::nan("")});
        b.set(0, 0, {.real = HUGE_VAL});
        b.set(1, 2, {.real = std::nan("")});
      });
    }
}

TEST_P(LoopTypes, OneOperatorOnFloatsOf16BitsWhereTheyLie) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::int64_t n : {1, 3, 15, 16, 17, 64, 1000}) {
      for (const Prim prim : {Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::min, Prim::max})
        for (const Dims& right : {Dims{n, 1}, Dims{0, 1}, Dims{1, 0}}) {
          LoopProgram p = program_over({5, n});
          const Reg a = p.load(dense(p, 0, dtype)), b = p.load({1, dtype, right});
          p.store(dense(p, 2, dtype), p.prim(prim, a, b));
          expect_matches_reference(p, [&](LoopBuffers& buffers) {
            buffers.set(0, n - 1, {.real = std::nan("")});
            buffers.set(0, n, {.real = -HUGE_VAL});
          });
        }
      for (const Prim prim : {Prim::neg, Prim::abs, Prim::floor, Prim::ceil, Prim::trunc, Prim::round}) {
        LoopProgram p = program_over({5, n});
        LoopOperand rows_apart = dense(p, 0, dtype);
        rows_apart.strides[0] += 3;
        p.store(dense(p, 1, dtype), p.prim(prim, p.load(rows_apart)));
        expect_matches_reference(p);
        LoopProgram in_place = program_over({5, n});
        in_place.store(dense(in_place, 0, dtype),
                       in_place.prim(prim, in_place.load(dense(in_place, 0, dtype))));
        expect_matches_reference(in_place);
      }
      LoopProgram p = program_over({n});
      const Reg x = p.load(dense(p, 0, dtype));
      p.store(dense(p, 1, dtype), p.prim(Prim::max, x, p.constant(0)));
      expect_matches_reference(p);
    }
}

TEST_P(LoopTypes, AnyByteButZeroIsTrue) {
  for (const std::int64_t n : {1, 17, 3000}) {
    LoopProgram p = program_over({n});
    const Reg a = p.load(dense(p, 0, DType::boolean)), b = p.load(dense(p, 1, DType::boolean));
    const Reg x = p.load(dense(p, 2)), k = p.load(dense(p, 3, DType::i64));
    p.store(dense(p, 4, DType::boolean), p.prim(Prim::logical_and, a, b));
    p.store(dense(p, 5, DType::boolean), p.prim(Prim::select, a, b, p.prim(Prim::logical_not, b)));
    p.store(dense(p, 6, DType::boolean), p.prim(Prim::ne, a, b));
    p.store(dense(p, 7), p.prim(Prim::select, a, x, p.cast(DType::f32, b)));
    p.store(dense(p, 8, DType::i64), p.prim(Prim::select, b, k, p.cast(DType::i64, a)));
    p.store(dense(p, 9, DType::boolean), a);
    LoopBuffers expected(p), actual(p);
    ThreadPool pool(1);
    for (std::int64_t i = 0; i < n; ++i) {
      for (const std::size_t bools : {0, 1}) {
        const std::int64_t truth = i >> bools & 1;
        expected.as<std::uint8_t>(bools)[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(truth);
        actual.as<std::uint8_t>(bools)[static_cast<std::size_t>(i)] =
            static_cast<std::uint8_t>(truth * (1 + i % 255));
      }
    }
    run_reference(p, expected.pointers());
    actual.run(pool);
    for (std::size_t buffer = 4; buffer < actual.count(); ++buffer)
      for (std::size_t i = 0; i < actual.as<std::byte>(buffer).size(); ++i)
        ASSERT_EQ(actual.as<std::byte>(buffer)[i], expected.as<std::byte>(buffer)[i])
            << buffer << " at " << i;
  }
}

TEST_P(LoopTypes, QuotientsOfLargeIntegersAreExact) {
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
