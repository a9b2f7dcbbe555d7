// Loop programs on types that kernels read as they lie: 16-bit floats, bools, whole numbers.
#include <cmath>
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
      for (const Prim prim : {Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::min, Prim::max, Prim::fmin,
                              Prim::fmax, Prim::copysign, Prim::ldexp})
        for (const Dims& right : {Dims{n, 1}, Dims{0, 1}, Dims{1, 0}}) {
          LoopProgram p = program_over({5, n});
          const Reg a = p.load(dense(p, 0, dtype)), b = p.load({1, dtype, right});
          p.store(dense(p, 2, dtype), p.prim(prim, a, b));
          expect_matches_reference(p, [&](LoopBuffers& buffers) {
            buffers.set(0, n - 1, {.real = std::nan("")});
            buffers.set(0, n, {.real = -HUGE_VAL});
            buffers.set(1, 0, {.real = -0.0});
          });
        }
      for (const Prim prim : {Prim::neg, Prim::abs, Prim::floor, Prim::ceil, Prim::trunc, Prim::round,
                              Prim::recip, Prim::rsqrt, Prim::sign}) {
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

// What is computed of one byte and stored as a byte is read from a table.
TEST_P(LoopTypes, FunctionsOfOneByte) {
  const auto is_like = [](DType t, LoopProgram& p, Reg x) {
    const Reg number = p.prim(Prim::mul, p.cast(DType::f32, x), p.constant(0.7));
    const Reg whole = p.prim(Prim::round, p.prim(Prim::add, p.prim(Prim::tanh, number), number));
    const double low = t == DType::i8 ? -128 : 0, high = t == DType::u8 ? 255 : 127;
    const Reg inside = p.prim(Prim::min, p.prim(Prim::max, whole, p.constant(low)), p.constant(high));
    return t == DType::boolean ? p.prim(Prim::gt, inside, p.constant(30)) : p.cast(t, inside);
  };
  for (const DType from : {DType::u8, DType::i8, DType::boolean})
    for (const DType to : {DType::u8, DType::i8, DType::boolean})
      for (const std::int64_t n : {63, 64, 1000, 6000}) {
        LoopProgram p = program_over({9, n});
        p.store(dense(p, 1, to), is_like(to, p, p.load(dense(p, 0, from))));
        expect_matches_reference(p);

        LoopProgram rows = program_over({9, n});  // a byte a row, rows that lie apart
        LoopOperand apart = dense(rows, 1, to);
        apart.strides[0] += 5;
        rows.store(apart, is_like(to, rows, rows.load({0, from, {1, 0}})));
        expect_matches_reference(rows);

        LoopProgram two = program_over({9, n});  // what others read is no table alone
        const Reg x = two.load(dense(two, 0, from)), y = is_like(to, two, x);
        two.store(dense(two, 1, to), y);
        two.store(dense(two, 2, DType::f32), two.prim(Prim::add, two.cast(DType::f32, y), two.constant(1)));
        two.store(dense(two, 3, to), is_like(to, two, two.load(dense(two, 4, from))));
        expect_matches_reference(two);

        if (from != to) continue;
        LoopProgram in_place = program_over({9, n});
        in_place.store(dense(in_place, 0, to),
                       is_like(to, in_place, in_place.load(dense(in_place, 0, from))));
        expect_matches_reference(in_place);
      }
}

// One operator on blocks, whose other operands are computed once a row.
TEST_P(LoopTypes, AScaleAndAShiftOfFloatsOf16Bits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const Dims& dims : {Dims{2, 5, 1}, Dims{2, 3, 49}, Dims{1, 4, 9000}, Dims{3, 70, 16}}) {
      const Dims of_rows = {0, 1, 0};
      LoopProgram p = program_over(dims);
      const Reg variance = p.prim(Prim::abs, p.load({1, dtype, of_rows}));
      const Reg scale = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1)));
      const Reg x = p.load(dense(p, 0, dtype)), shift = p.load({2, DType::f32, of_rows});
      p.store(dense(p, 3, dtype), p.prim(Prim::add, p.prim(Prim::mul, x, scale), shift));
      expect_matches_reference(p);
      for (const Prim prim : {Prim::exp, Prim::tanh, Prim::sigmoid, Prim::mul}) {
        LoopProgram function = program_over(dims);
        const Reg y = function.load(dense(function, 0, dtype));
        function.store(dense(function, 1, dtype), prim == Prim::mul
                                                      ? function.prim(prim, y, function.constant(3))
                                                      : function.prim(prim, y));
        expect_matches_reference(function);
      }
    }
}

// Pixels of a few channels: each channel by itself, and all of them as a transposed image.
TEST_P(LoopTypes, ElementsThatLieApart) {
  for (const DType dtype :
       {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f64, DType::f16, DType::boolean})
    for (const std::int64_t step : {2, 3, 4, 5})
      for (const std::int64_t n : {1, 17, 70, 1000}) {
        LoopProgram one = program_over({2, n});
        one.store(dense(one, 1, dtype), one.load({0, dtype, {n * step, step}}));
        expect_matches_reference(one);
        LoopProgram all = program_over({2, step, n});
        const Reg x = all.load({0, dtype, {n * step, 1, step}});
        all.store(dense(all, 1), all.cast(DType::f32, x));
        expect_matches_reference(all);
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
    int next = 10;
    for (const DType type : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64, DType::u32})
      for (const DType through : {type, DType::i64})
        p.store(dense(p, next++, type), p.cast(type, p.cast(through, a)));
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

TEST_P(LoopTypes, CastsBetweenFloatsAndLargeIntegers) {
  std::vector<double> reals = {0, -0.0, 0.5, -0.5, 1.5, -2.75, 4294967296.5, -4294967297.0};
  std::vector<std::int64_t> wholes = {0, 1, -1, 1 << 24, (1 << 24) + 1};
  for (const int bits : {31, 32, 33, 50, 51, 52, 53, 54, 62})
    for (const std::int64_t near : {-1, 0, 1})
      for (const std::int64_t sign : {-1, 1}) {
        wholes.push_back(sign * ((std::int64_t{1} << bits) + near));
        reals.push_back(static_cast<double>(wholes.back()));
      }
  for (const double large : {0x1p63, -0x1p63, 0x1p64, 1e300, HUGE_VAL, std::nan("")}) reals.push_back(large);
  wholes.push_back(std::numeric_limits<std::int64_t>::min());
  wholes.push_back(std::numeric_limits<std::int64_t>::max());
  for (const std::size_t count :
       {std::size_t{5}, std::size_t{29}, wholes.size()}) {  // from small ones to all
    const auto n = static_cast<std::int64_t>(count);
    LoopProgram p = program_over({n});
    const Reg whole = p.load(dense(p, 0, DType::i64)), f32 = p.load(dense(p, 1)),
              f64 = p.load(dense(p, 2, DType::f64));
    p.store(dense(p, 3), p.cast(DType::f32, whole));
    p.store(dense(p, 4, DType::f64), p.cast(DType::f64, whole));
    p.store(dense(p, 5, DType::i64), p.cast(DType::i64, f32));
    p.store(dense(p, 6, DType::i64), p.cast(DType::i64, f64));
    p.store(dense(p, 7, DType::u32), p.cast(DType::u32, f64));
    expect_matches_reference(p, [&](LoopBuffers& b) {
      for (std::int64_t i = 0; i < n; ++i) {
        b.set(0, i, {.whole = wholes[static_cast<std::size_t>(i)]});
        for (const std::size_t side : {1, 2}) b.set(side, i, {.real = reals[static_cast<std::size_t>(i)]});
      }
    });
  }
}

TEST_P(LoopTypes, FloatsCutToNarrowIntegers) {
  const std::vector<double> reals = {0,      -0.0,  0.9,     -0.9,     127.6,     128,         -129,
                                     255.5,  256,   65535.9, -32769,   0x1p31,    -0x1p31,     0x1p31 - 128,
                                     0x1p40, -1e10, 1e300,   HUGE_VAL, -HUGE_VAL, std::nan("")};
  constexpr std::int64_t n = 203;  // whole vectors, and a rest
  for (const DType from : {DType::f32, DType::f64, DType::bf16})
    for (const DType to : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32}) {
      LoopProgram p = program_over({n});
      p.store(dense(p, 1, to), p.cast(to, p.load(dense(p, 0, from))));
      expect_matches_reference(p, [&](LoopBuffers& b) {
        for (std::int64_t i = 0; i < n; ++i)
          b.set(0, i, {.real = reals[static_cast<std::size_t>(i * 7) % reals.size()]});
      });
    }
}

TEST_P(LoopTypes, ChainsAreTheirPrimitives) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (const std::int64_t n : {1, 15, 1025})
      for (const Dims& strides : {Dims{0, 0}, Dims{1, 0}, Dims{0, 1}}) {
        LoopProgram p = program_over({3, n});
        const Reg x = p.load(dense(p, 0, dtype)), w = p.load({1, dtype, strides}),
                  y = p.load({2, dtype, strides});
        const auto store = [&](int buffer, Reg r) { p.store(dense(p, buffer, dtype), r); };
        store(3, p.prim(Prim::add, p.prim(Prim::mul, x, w), y));
        store(4, p.prim(Prim::sub, p.prim(Prim::mul, x, w), y));
        store(5, p.prim(Prim::mul, p.prim(Prim::sub, x, w), y));
        store(6, p.prim(Prim::mul, p.prim(Prim::mul, x, x), x));
        const Reg zero = p.constant(0, compute_type(dtype));
        store(7, p.prim(Prim::select, p.prim(Prim::gt, x, zero), x, p.prim(Prim::mul, w, x)));
        store(8, p.prim(Prim::select, p.prim(Prim::gt, x, zero), x, p.prim(Prim::mul, y, w)));
        store(9, p.prim(Prim::add, y, p.prim(Prim::mul, w, p.prim(Prim::sub, x, w))));
        store(10, p.prim(Prim::mul, y, p.prim(Prim::mul, x, w)));
        store(11, p.prim(Prim::abs, p.prim(Prim::sub, w, x)));
        const auto clamped = [&] { return p.prim(Prim::min, p.prim(Prim::max, x, w), y); };
        store(12, p.prim(Prim::sub, x, clamped()));
        store(13, p.prim(Prim::select, p.prim(Prim::isnan, x), y, clamped()));
        store(14, p.prim(Prim::select, p.prim(Prim::le, p.prim(Prim::abs, x), w), y, x));
        for (const Prim test : {Prim::lt, Prim::le}) {
          const Reg square = p.prim(Prim::mul, w, p.prim(Prim::mul, x, x)), line = p.prim(Prim::sub, x, y);
          store(test == Prim::lt ? 15 : 16, p.prim(Prim::select, p.prim(test, x, y), square, line));
        }
        const auto centred = [&] { return p.prim(Prim::mul, p.prim(Prim::sub, x, w), y); };
        store(17, p.prim(Prim::add, p.prim(Prim::mul, centred(), w), y));
        store(18, p.prim(Prim::add, x, p.prim(Prim::mul, y, centred())));
        store(19, p.prim(Prim::add, w, p.prim(Prim::div, x, y)));
        store(20, p.prim(Prim::add, p.prim(Prim::div, y, w), x));
        const Reg far = p.prim(Prim::abs, p.prim(Prim::sub, x, w)), least = p.prim(Prim::min, far, y);
        store(21, p.prim(Prim::mul, least, p.prim(Prim::sub, far, p.prim(Prim::mul, least, w))));
        expect_matches_reference(p, [&](LoopBuffers& b) {
          b.set(0, n, {.real = std::nan("")});
          b.set(0, 0, {.real = -0.0});
        });
      }
}

TEST_P(LoopTypes, SelectsByATestAreTheirParts) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i8})
    for (const std::int64_t n : {1, 7, 8, 15, 1025})
      for (const Prim test : {Prim::lt, Prim::le, Prim::gt, Prim::ge, Prim::eq, Prim::ne, Prim::isnan})
        for (const Dims& strides : {Dims{n, 1}, Dims{0, 0}, Dims{1, 0}}) {
          LoopProgram p = program_over({3, n});
          const Reg x = p.load(dense(p, 0, dtype)), y = p.load({1, dtype, strides});
          const Reg two = is_float(dtype) ? p.constant(2, compute_type(dtype)) : p.constant_int(2);
          const Reg holds = test == Prim::isnan ? p.prim(test, x) : p.prim(test, x, y);
          p.store(dense(p, 2, dtype), p.prim(Prim::select, holds, two, x));
          if (n == 15) p.store(dense(p, 3, dtype), p.prim(Prim::select, holds, y, two));
          expect_matches_reference(p, [&](LoopBuffers& b) {
            b.set(0, 0, b.at(1, 0));
            if (!is_float(dtype)) return;
            b.set(0, n, {.real = std::nan("")});
            b.set(0, 2 * n, {.real = -0.0});
          });
        }
}

TEST_P(LoopTypes, NumbersOfRowsThatAreOneValue) {
  for (const DType dtype : {DType::f64, DType::i64, DType::i8})
    for (const std::int64_t n : {1, 3, 8, 33, 130})
      for (const Prim prim :
           {Prim::add, Prim::sub, Prim::mul, Prim::min, Prim::max, Prim::fmin, Prim::fmax, Prim::lt, Prim::le,
            Prim::gt, Prim::ge, Prim::eq, Prim::ne, Prim::neg, Prim::abs, Prim::logical_not}) {
        LoopProgram p = program_over({9, n});
        const Reg a = p.load({0, dtype, {1, 0}}), b = p.load(dense(p, 1, dtype));
        const Reg result = arity(prim) == 2 ? p.prim(prim, a, b) : p.prim(prim, b);
        p.store(dense(p, 2, info(prim).kind == PrimKind::test ? DType::boolean : dtype), result);
        expect_matches_reference(p);
      }
}

TEST_P(LoopTypes, RowsOfEveryLength) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16})
    for (const std::int64_t length : {1, 3, 4, 31, 33, 49, 197, 2300})
      for (const std::int64_t rows : {1, 17}) {
        LoopProgram p = program_over({rows, length}, 1);
        const DType computed = compute_type(dtype);
        const Reg x = p.load(dense(p, 0, dtype)), n = p.count(computed);
        const Reg mean = p.prim(Prim::div, p.reduce(Reduce::sum, x), n);
        const Reg d = p.prim(Prim::sub, x, mean);
        const auto store_row = [&](int buffer, Reg r) { p.store({buffer, computed, {1, 0}}, r); };
        store_row(1, mean);
        store_row(2, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)));
        store_row(3, p.reduce(Reduce::sum, p.prim(Prim::mul, x, x)));
        store_row(4, p.reduce(Reduce::max, x));
        expect_matches_reference(p);
        LoopProgram sums = program_over({rows, length}, 1);
        LoopOperand apart = dense(sums, 0, dtype);
        apart.strides[0] += 3;
        sums.store({1, computed, {1, 0}}, sums.reduce(Reduce::sum, sums.load(apart)));
        expect_matches_reference(sums);
        if (dtype != DType::f64) continue;
        LoopProgram products = program_over({rows, length}, 1);
        const Reg left = products.load(dense(products, 0, dtype)), right = products.load({1, dtype, {0, 1}});
        products.store({2, computed, {1, 0}},
                       products.reduce(Reduce::sum, products.prim(Prim::mul, left, right)));
        expect_matches_reference(products);
      }
}

// Many short rows are folded at once.
TEST_P(LoopTypes, RowsThatAreOnlyFolded) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
    for (const std::int64_t length : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 33, 64, 67})
      for (const std::int64_t rows : {1, 3, 17, 67})
        for (const Reduce kind : {Reduce::sum, Reduce::min, Reduce::max}) {
          LoopProgram p = program_over({rows, length}, 1);
          LoopOperand apart = dense(p, 0, dtype);
          apart.strides[0] += length % 2 * 3;
          p.store({1, compute_type(dtype), {1, 0}}, p.reduce(kind, p.load(apart)));
          expect_matches_reference(p);
        }
}

TEST_P(LoopTypes, NanWinsInShortAndLongRowsOfEveryFloat) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const std::int64_t length : {4, 12, 16, 33, 100})
      for (const std::int64_t at : {std::int64_t{0}, length / 2, length - 1}) {
        LoopProgram p = program_over({40, length}, 1);
        const Reg x = p.load(dense(p, 0, dtype));
        p.store({1, dtype, {1, 0}}, p.reduce(Reduce::max, x));
        p.store({2, dtype, {1, 0}}, p.reduce(Reduce::min, x));
        expect_matches_reference(p, [&](LoopBuffers& b) {
          for (const std::int64_t row : {0, 5, 39}) {
            const auto place = static_cast<std::size_t>(row * length + at);
            dtype == DType::f32 ? void(b.as<float>(0)[place] = NAN) : void(b.as<double>(0)[place] = NAN);
          }
        });
      }
}

TEST_P(LoopTypes, ProductsOfRowsOfEveryLength) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16})
    for (const std::int64_t length : {1, 3, 4, 31, 33, 49, 197, 2300}) {
      LoopProgram p = program_over({17, length}, 1);
      const DType computed = compute_type(dtype);
      const Reg is_positive = p.prim(Prim::gt, p.load(dense(p, 0, dtype)), p.constant(0, computed));
      const Reg factor =
          p.prim(Prim::select, is_positive, p.constant(1.03125, computed), p.constant(-0.96875, computed));
      p.store({1, computed, {1, 0}}, p.reduce(Reduce::prod, factor));
      expect_matches_reference(p);
    }
}

TEST_P(LoopTypes, DoublesCastTo16Bits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const DType through : {dtype, DType::f32, DType::f16})
      for (const std::int64_t length : {1, 7, 8, 31, 1000, 30001}) {
        LoopProgram p = program_over({length});
        p.store(dense(p, 1, dtype), p.cast(through, p.load(dense(p, 0, DType::f64))));
        expect_matches_reference(p);
      }
}

// Rows are reduced, then read once more by the only operator on blocks.
TEST_P(LoopTypes, NormsByOneReductionOfFloatsOf16Bits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::int64_t length : {1, 15, 64, 197, 2300, 9000})
      for (const std::int64_t rows : {1, 9})
        for (const int to : {0, 3}) {
          LoopProgram p = program_over({rows, length}, 1);
          const Reg x = p.load(dense(p, 0, dtype));
          const Reg mean =
              p.prim(Prim::div, p.reduce(Reduce::sum, p.prim(Prim::mul, x, x)), p.count(DType::f32));
          const Reg scale = p.prim(Prim::rsqrt, p.prim(Prim::add, mean, p.constant(1e-5)));
          p.store(dense(p, to, dtype),
                  p.prim(Prim::mul, p.prim(Prim::mul, x, scale), p.load({1, dtype, {0, 1}})));
          expect_matches_reference(p);
          for (const Reduce kind : {Reduce::sum, Reduce::max, Reduce::min}) {
            LoopProgram other = program_over({rows, length}, 1);
            const Reg y = other.load(dense(other, 0, dtype));
            other.store(dense(other, to, dtype), other.prim(Prim::sub, y, other.reduce(kind, y)));
            expect_matches_reference(other);
          }
        }
}

TEST_P(LoopTypes, ColumnsOfEveryWidth) {
  for (const DType dtype : {DType::f64, DType::i8, DType::i32, DType::i64})
    for (const std::int64_t width : {5, 32, 127, 300})
      for (const std::int64_t length : {1, 9, 500}) {
        LoopProgram p = program_over({width, length}, 1);
        const Reg x = p.load({0, dtype, {1, width}});
        p.store({1, dtype, {1, 0}}, p.reduce(Reduce::max, x));
        p.store({2, compute_type(dtype), {1, 0}}, p.reduce(Reduce::sum, x));
        p.store({3, compute_type(dtype), {1, 0}}, p.reduce(Reduce::sum, p.prim(Prim::mul, x, x)));
        p.store({4, DType::i64, {1, 0}}, p.reduce(Reduce::argmin, x));
        expect_matches_reference(p);
      }
}

// Folds alone read the columns, where they lie.
TEST_P(LoopTypes, ColumnsOfFloatsOf16Bits) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::int64_t width : {1, 5, 8, 33, 127, 300})
      for (const std::int64_t length : {1, 2, 9, 500, 3001}) {
        LoopProgram p = program_over({width, length}, 1);
        const Reg x = p.load({0, dtype, {1, width}});
        p.store({1, dtype, {1, 0}}, p.reduce(Reduce::max, x));
        p.store({2, DType::f32, {1, 0}}, p.reduce(Reduce::min, x));
        p.store({3, DType::f32, {1, 0}}, p.reduce(Reduce::sum, x));
        p.store({4, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.prim(Prim::mul, x, x)));
        expect_matches_reference(p);
      }
}

// What one row or one column shares is computed for the tiles that need it.
TEST_P(LoopTypes, ValuesOfRowsAndOfColumns) {
  for (const Dims& dims :
       {Dims{3, 40, 700}, Dims{2, 5, 3000}, Dims{4, 70, 9}, Dims{1, 1, 5000}, Dims{6, 33, 1}}) {
    LoopProgram p = program_over(dims);
    const Reg x = p.load(dense(p, 0)), scalar = p.load({1, DType::f32, {0, 0, 0}});
    const Reg row = p.prim(Prim::exp, p.load({2, DType::f16, {dims[1], 1, 0}}));
    const Reg column = p.prim(Prim::add, p.load({3, DType::f32, {0, 0, 1}}), scalar);
    const Reg whole = p.prim(Prim::sqrt, p.prim(Prim::abs, p.load({4, DType::f32, {1, 0, 0}})));
    const Reg scaled = p.prim(Prim::mul, x, p.prim(Prim::mul, row, scalar));
    p.store(dense(p, 5), p.prim(Prim::add, p.prim(Prim::sub, scaled, column), whole));
    p.store(dense(p, 6), p.prim(Prim::mul, column, row));
    expect_matches_reference(p);
  }
}

}  // namespace
}  // namespace tenon::cpu
