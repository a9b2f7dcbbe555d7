// Loop programs give what their plain reading gives, whatever the shapes, strides, dtypes, ISA and threads.
#include "kernels/cpu/loop_kernel.h"

#include <cstdlib>
#include <numeric>

#include "tests/kernels/dense_program.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"
#include "tests/kernels/loop_cases.h"
#include "tests/kernels/random_loops.h"

namespace tenon::cpu {
namespace {

class Loop : public OnEveryIsa {};
TENON_EVERY_ISA(Loop);

LoopProgram softmax(std::int64_t rows, std::int64_t length) {
  LoopProgram p = program_over({rows, length}, 1);
  const Reg x = p.load(dense(p, 0));
  const Reg e = p.prim(Prim::exp, p.prim(Prim::sub, x, p.reduce(Reduce::max, x)));
  p.store(dense(p, 1), p.prim(Prim::div, e, p.reduce(Reduce::sum, e)));
  return p;
}

// y = layer_norm(x + residual) * gamma + beta, and the sum itself.
LoopProgram layer_norm(std::int64_t rows, std::int64_t length) {
  LoopProgram p = program_over({rows, length}, 1);
  const Reg scale = p.constant(1.0 / static_cast<double>(length));
  const Reg x = p.prim(Prim::add, p.load(dense(p, 0)), p.load(dense(p, 1)));
  const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale);
  const Reg d = p.prim(Prim::sub, x, mean);
  const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
  const Reg rstd = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5)));
  const Reg scaled = p.prim(Prim::mul, p.prim(Prim::mul, d, rstd), p.load({2, DType::f32, {0, 1}}));
  p.store(dense(p, 4), x);
  p.store(dense(p, 5), p.prim(Prim::add, scaled, p.load({3, DType::f32, {0, 1}})));
  return p;
}

TEST_P(Loop, SoftmaxOfAnyRowLength) {
  for (const std::int64_t length : {1, 2, 3, 15, 16, 17, 128, 1000, 1025, 2048, 2049, 5000, 70000})
    for (const std::int64_t rows : {1, 3, 9})
      if (rows * length <= 70000) expect_matches_reference(softmax(rows, length));
}

TEST_P(Loop, LayerNormOfAnyRowLength) {
  for (const std::int64_t length : {1, 2, 15, 16, 17, 384, 1000, 1025, 3000, 50000})
    for (const std::int64_t rows : {1, 5, 33})
      if (rows * length <= 100000) expect_matches_reference(layer_norm(rows, length));
}

// Channels are far apart, those of neighbouring rows side by side; the weights lie along the row.
TEST_P(Loop, LayerNormOfRowsThatMemoryRunsAcross) {
  for (const std::int64_t length : {17, 144, 3000})
    for (const std::int64_t rows : {3, 5, 64, 1000}) {
      if (rows * length > 200000) continue;
      LoopProgram p = program_over({rows, length}, 1);
      const Reg scale = p.constant(1.0 / static_cast<double>(length));
      const Reg x = p.load({0, DType::f32, {1, rows}});
      const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale);
      const Reg d = p.prim(Prim::sub, x, mean);
      const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
      const Reg rstd = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5)));
      const Reg scaled = p.prim(Prim::mul, p.prim(Prim::mul, d, rstd), p.load({1, DType::f32, {0, 1}}));
      p.store({3, DType::f32, {1, rows}}, p.prim(Prim::add, scaled, p.load({2, DType::f32, {0, 1}})));
      expect_matches_reference(p);
    }
}

TEST_P(Loop, RmsNormWithPrologueAndEpilogue) {
  for (const std::int64_t length : {7, 64, 3000}) {
    LoopProgram p = program_over({6, length}, 1);
    const Reg x = p.prim(Prim::mul, p.load(dense(p, 0)), p.prim(Prim::sigmoid, p.load(dense(p, 0))));
    const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, x, x)),
                            p.constant(1.0 / static_cast<double>(length)));
    const Reg y = p.prim(Prim::mul, x, p.prim(Prim::rsqrt, p.prim(Prim::add, mean, p.constant(1e-6))));
    p.store(dense(p, 1), p.prim(Prim::tanh, y));
    expect_matches_reference(p);
  }
}

TEST_P(Loop, PointwiseOfAnySize) {
  for (const std::int64_t n : {0, 1, 3, 15, 16, 17, 1023, 1024, 1025, 100000}) {
    LoopProgram p = program_over({n});
    const Reg sum = p.prim(Prim::add, p.load(dense(p, 0)), p.load(dense(p, 1)));
    p.store(dense(p, 2), p.prim(Prim::max, sum, p.constant(0)));
    expect_matches_reference(p);
  }
}

TEST_P(Loop, KnownChainsHaveTheMeaningOfTheirParts) {
  LoopProgram p = program_over({3, 100});
  const Reg x = p.load(dense(p, 0));
  const Reg y = p.load({1, DType::f32, {0, 1}});
  const Reg s = p.load({2, DType::f32, {1, 0}});
  const Reg one = p.constant(1);
  const Reg half = p.constant(0.5);
  const Reg cdf = p.prim(Prim::add, one, p.prim(Prim::erf, p.prim(Prim::mul, x, p.constant(std::sqrt(0.5)))));
  const Reg gelu = p.prim(Prim::mul, p.prim(Prim::mul, half, cdf), x);
  const Reg silu = p.prim(Prim::mul, p.prim(Prim::sigmoid, y), y);
  const Reg fma = p.prim(Prim::add, s, p.prim(Prim::mul, x, y));
  const Reg fms = p.prim(Prim::sub, p.prim(Prim::mul, x, y), s);
  const Reg sub_mul = p.prim(Prim::mul, y, p.prim(Prim::sub, x, s));
  const Reg relu = p.prim(Prim::max, p.constant(0), p.prim(Prim::add, x, s));
  const Reg exp = p.prim(Prim::exp, p.prim(Prim::sub, s, y));
  const Reg silu_mul = p.prim(Prim::mul, p.prim(Prim::mul, p.prim(Prim::sigmoid, x), s), x);
  const Reg biased = p.prim(Prim::add, x, y);
  const Reg erf = p.prim(Prim::erf, p.prim(Prim::div, biased, p.constant(std::sqrt(2.0))));
  const Reg add_gelu = p.prim(Prim::mul, half, p.prim(Prim::mul, p.prim(Prim::add, erf, one), biased));
  int buffer = 3;
  for (const Reg r : {silu_mul, add_gelu, gelu, silu, fma, fms, sub_mul, relu, exp})
    p.store(dense(p, buffer++), r);
  expect_matches_reference(p);
}

// The images are read and written where they lie: what lies between would not stay in L1 with them.
TEST_P(Loop, AScaledImageIsAddedAndCutBelowZeroInOnePass) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const auto& [rows, channels] : {std::pair{70, 43}, {9, 256}, {1, 5000}}) {
      LoopProgram p = program_over({rows, channels});
      const Reg scale = p.load({1, dtype, {0, 1}});
      const Reg scaled = p.prim(Prim::mul, scale, p.load(dense(p, 0, dtype)));
      const Reg sum = p.prim(Prim::add, p.load(dense(p, 2, dtype)), scaled);
      p.store(dense(p, 3, dtype), p.prim(Prim::max, p.constant(0), sum));
      expect_matches_reference(p);
      constexpr std::size_t one_register = 4096;
      if (dtype == DType::f32) { EXPECT_LT(LoopKernel::compile(p).scratch_bytes(1), one_register); }
    }
  }
}

// x * x / 2 where x = |a - b| is below (or at) 1, else x - 1/2.
TEST_P(Loop, HuberLossesAreOnePass) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Prim test : {Prim::lt, Prim::le}) {
      LoopProgram p = program_over({7, 1000});
      const Reg x =
          p.prim(Prim::abs, p.prim(Prim::sub, p.load(dense(p, 0, dtype)), p.load(dense(p, 1, dtype))));
      const Reg half = p.constant(0.5, dtype), one = p.constant(1, dtype);
      const Reg square = p.prim(Prim::mul, p.prim(Prim::mul, x, x), half);
      p.store(dense(p, 2, dtype),
              p.prim(Prim::select, p.prim(test, x, one), square, p.prim(Prim::sub, x, half)));
      expect_matches_reference(p);
      constexpr std::size_t one_register = 4096;
      EXPECT_LT(LoopKernel::compile(p).scratch_bytes(1), one_register);
    }
}

TEST_P(Loop, PowersWithAConstantExponent) {
  for (const double exponent : {2.0, 0.5, -0.5, -1.0, 3.0, 1.7}) {
    LoopProgram p = program_over({200});
    const Reg x = p.prim(Prim::add, p.load(dense(p, 0)), p.constant(2.5));
    p.store(dense(p, 1), p.prim(Prim::pow, x, p.constant(exponent)));
    expect_matches_reference(p);
  }
}

TEST_P(Loop, BroadcastsInEveryDirection) {
  for (const Dims& dims :
       {Dims{5, 7}, Dims{40, 33}, Dims{3, 1100}, Dims{2, 3, 4}, Dims{6, 1, 50}, Dims{300, 3}}) {
    LoopProgram p = program_over(dims);
    Reg sum = p.load(dense(p, 0));
    int buffer = 1;
    for (std::size_t kept = 0; kept < dims.size(); ++kept) {
      Dims strides(dims.size(), 0);
      strides[kept] = 1;
      const Reg along = p.load({buffer++, DType::f32, strides});
      const Reg one = p.load({buffer++, DType::f32, Dims(dims.size(), 0)});
      sum = p.prim(Prim::add, p.prim(Prim::mul, sum, along), one);
    }
    p.store(dense(p, buffer), sum);
    expect_matches_reference(p);
  }
}

TEST_P(Loop, PermutedAndReversedOperands) {
  const Dims dims = {6, 40, 35};
  LoopProgram p = program_over(dims);
  const Reg swapped = p.load({0, DType::f32, {40 * 35, 1, 40}});
  const Reg outermost = p.load({1, DType::f32, {1, 6, 6 * 40}});
  const Reg reversed = p.load({2, DType::f32, {-40 * 35, -35, -1}, 6 * 40 * 35 - 1});
  const Reg strided = p.load({3, DType::f32, {40 * 70, 70, 2}, 1});
  const Reg sum =
      p.prim(Prim::add, p.prim(Prim::add, swapped, outermost), p.prim(Prim::add, reversed, strided));
  p.store({4, DType::f32, {40 * 35, 1, 40}}, sum);
  p.store({5, DType::f32, {-40 * 35, -35, -1}, 6 * 40 * 35 - 1}, p.prim(Prim::neg, sum));
  p.store(dense(p, 6), p.prim(Prim::abs, sum));
  expect_matches_reference(p);
}

TEST_P(Loop, InPlaceUpdateReadsBeforeItWrites) {
  LoopProgram p = program_over({2000});
  const Reg x = p.load(dense(p, 0));
  const Reg y = p.prim(Prim::add, x, p.constant(1));
  p.store(dense(p, 0), y);
  p.store(dense(p, 1), p.prim(Prim::mul, x, y));
  expect_matches_reference(p);
}

TEST_P(Loop, StoresBroadcastAndRepeatedValues) {
  LoopProgram p = program_over({20, 30});
  const Reg row = p.load({0, DType::f32, {1, 0}});
  const Reg column = p.prim(Prim::exp, p.load({1, DType::f32, {0, 1}}));
  p.store(dense(p, 2), row);
  p.store(dense(p, 3), column);
  p.store(dense(p, 4), column);
  p.store(dense(p, 5), p.constant(7));
  expect_matches_reference(p);
}

TEST_P(Loop, ConvertsWhereItLoadsAndStores) {
  for (const DType in : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::u32, DType::i64,
                         DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const DType out : {DType::boolean, DType::u8, DType::i16, DType::i64, DType::f16, DType::bf16,
                            DType::f32, DType::f64}) {
      LoopProgram p = program_over({3, 37});
      p.store(dense(p, 1, out), p.cast(out, p.load(dense(p, 0, in))));
      p.store({2, out, {1, 3}}, p.cast(out, p.load({0, in, {-37, -1}, 110})));
      expect_matches_reference(p);
    }
  }
}

TEST_P(Loop, ConvertsFloat8BothWays) {
  std::vector<LoopCase> cases;
  loop_cases::add_float8(cases);
  for (const LoopCase& c : cases) expect_matches_reference(c.program, c.prepare);
}

/// Every integer of the type is as likely, and some are its extremes.
void fill_with_any_integers(LoopBuffers& buffers) {
  std::mt19937_64 random(11);
  for (std::size_t b = 0; b < buffers.count(); ++b)
    for (std::byte& byte : buffers.as<std::byte>(b)) {
      const auto bits = random();
      byte = bits % 8 < 3 ? std::byte{0xff} : bits % 8 < 6 ? std::byte{0} : std::byte(bits >> 8);
    }
}

TEST_P(Loop, ReducesEveryKindAlongRowsAndColumns) {
  for (const auto& [rows, columns] : {std::pair{5, 9}, {40, 130}, {3, 2500}, {2500, 6}, {130, 300}}) {
    for (const DType type : {DType::f32, DType::f64, DType::i64, DType::i32, DType::f16}) {
      for (const bool along_columns : {false, true}) {
        LoopProgram p = along_columns ? program_over({columns, rows}, 1) : program_over({rows, columns}, 1);
        const LoopOperand from = {0, type, along_columns ? Dims{1, columns} : Dims{columns, 1}};
        const bool real = is_float(type);
        const Reg loaded = p.load(from);
        // Scaled, so that sums stay near 1, where the tolerance is relative to.
        const Reg x = real ? p.prim(Prim::mul, loaded, p.constant(1.0 / 64, compute_type(type))) : loaded;
        int buffer = 1;
        for (const Reduce kind : {Reduce::sum, Reduce::prod, Reduce::min, Reduce::max}) {
          const Reg r = p.reduce(kind, x);
          p.store({buffer++, compute_type(type), {1, 0}}, r);
        }
        for (const Reduce kind : {Reduce::argmin, Reduce::argmax}) {
          p.store({buffer++, DType::i64, {1, 0}}, p.reduce(kind, x));
        }
        const Reg zero = real ? p.constant(0, compute_type(type)) : p.constant_int(0);
        p.store({buffer++, DType::boolean, {1, 0}}, p.reduce(Reduce::any, p.prim(Prim::gt, x, zero)));
        p.store({buffer++, DType::boolean, {1, 0}}, p.reduce(Reduce::all, p.prim(Prim::gt, x, zero)));
        expect_matches_reference(p);
      }
    }
  }
}

TEST_P(Loop, ExtremesOfNarrowIntegersAlongRowsAndColumns) {
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {5, 127}, {7, 129}, {1031, 64}, {40, 1024}, {3, 9001}, {300, 31}})
    for (const DType type : {DType::i8, DType::u8, DType::i16})
      for (const bool along_columns : {false, true}) {
        LoopProgram p = along_columns ? program_over({columns, rows}, 1) : program_over({rows, columns}, 1);
        const Reg x = p.load({0, type, along_columns ? Dims{1, columns} : Dims{columns, 1}});
        p.store({1, type, {1, 0}}, p.reduce(Reduce::max, x));
        p.store({2, DType::i32, {1, 0}}, p.reduce(Reduce::min, x));
        p.store({3, type, {1, 0}}, p.reduce(Reduce::min, p.prim(Prim::neg, x)));
        expect_matches_reference(p, fill_with_any_integers);
      }
}

TEST_P(Loop, RowsOfTwoDimsWithOperandsAlongEither) {
  for (const std::int64_t inner : {127, 128, 129, 1021, 1024, 2500})
    for (const std::int64_t outer : {2, 3, 17}) {
      LoopProgram p = program_over({3, outer, inner}, 2);
      const Reg scale = p.constant(1.0 / static_cast<double>(outer * inner));
      const Reg x = p.load(dense(p, 0));
      const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale);
      const Reg d = p.prim(Prim::sub, x, mean);
      const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
      const Reg y = p.prim(Prim::mul, d, p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5))));
      const Reg along_outer = p.load({1, DType::f32, {outer, 1, 0}});
      const Reg along_inner = p.load({2, DType::f16, {0, 0, 1}});
      const Reg weighted = p.prim(Prim::add, p.prim(Prim::mul, y, along_outer), along_inner);
      p.store(dense(p, 3), weighted);
      // Values that vary along one of the two dims alone are folded as often as they are repeated.
      p.store({4, DType::f32, {1, 0, 0}}, p.reduce(Reduce::max, along_outer));
      p.store({5, DType::f32, {1, 0, 0}}, p.prim(Prim::mul, p.reduce(Reduce::sum, along_outer), scale));
      const Reg place = p.prim(Prim::add, p.prim(Prim::mul, p.iota(1), p.constant_int(inner)), p.iota(2));
      p.store(dense(p, 6, DType::i64), place);
      p.store({7, DType::i64, {1, 0, 0}}, p.reduce(Reduce::sum, p.iota(1)));
      p.store({8, DType::i64, {1, 0, 0}}, p.reduce(Reduce::argmax, x));
      expect_matches_reference(p);
    }
}

// Sums walk over a group as it lies, the last walk stops where a channel ends.
TEST_P(Loop, NormsOfGroupsOfChannelsThatAreFirst) {
  for (const auto& [channels, pixels] : {std::pair{10, 1024}, {17, 129}, {12, 196}, {4, 3000}, {130, 128}})
    for (const DType type : {DType::f32, DType::bf16, DType::f64}) {
      LoopProgram p = program_over({2, 3, channels, pixels}, 2);
      const Reg scale = p.constant(1.0 / static_cast<double>(channels * pixels), compute_type(type));
      const Reg x = p.load(dense(p, 0, type));
      const Reg d = p.prim(Prim::sub, x, p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale));
      const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
      const Reg rstd = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5, compute_type(type))));
      const Reg weight = p.load({1, type, {0, channels, 1, 0}}),
                bias = p.load({2, type, {0, channels, 1, 0}});
      const Reg y = p.prim(Prim::add, p.prim(Prim::mul, p.prim(Prim::mul, d, rstd), weight), bias);
      p.store(dense(p, 3, type), y);
      expect_matches_reference(p);
    }
}

// The channels of a group are a part of its row, and those of the next group lie beside them.
TEST_P(Loop, NormsOfGroupsOfChannelsThatAreLast) {
  for (const auto& [groups, channels, pixels, gap] : {std::tuple{32, 8, 300, 0},
                                                      {8, 12, 700, 0},
                                                      {3, 5, 900, 4},
                                                      {70, 2, 1100, 0},
                                                      {1, 64, 90, 0},
                                                      {4, 100, 33, 0}})
    for (const DType type : {DType::f32, DType::bf16, DType::f64}) {
      const std::int64_t pixel = groups * channels + gap;
      const Dims image{pixels * pixel, channels, 1, pixel};
      LoopProgram p = program_over({2, groups, channels, pixels}, 2);
      const Reg scale = p.constant(1.0 / static_cast<double>(channels * pixels), compute_type(type));
      const Reg x = p.load({0, type, image});
      const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale);
      const Reg d = p.prim(Prim::sub, x, mean);
      const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
      const Reg rstd = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5, compute_type(type))));
      const Reg weight = p.load({1, type, {0, channels, 1, 0}});
      p.store({2, type, image}, p.prim(Prim::mul, p.prim(Prim::mul, d, rstd), weight));
      const Dims of_rows{groups, 1, 0, 0};
      p.store({3, compute_type(type), of_rows}, mean);
      p.store({4, compute_type(type), of_rows}, p.reduce(Reduce::max, x));
      p.store({5, compute_type(type), of_rows}, p.reduce(Reduce::min, weight));
      const Reg zero = p.constant(0, compute_type(type));
      p.store({6, DType::boolean, of_rows}, p.reduce(Reduce::all, p.prim(Prim::gt, x, zero)));
      p.store({7, DType::i64, of_rows}, p.reduce(Reduce::sum, p.iota(2)));
      expect_matches_reference(p);
    }
}

TEST_P(Loop, MeanOverHeightAndWidthOfPaddedNhwc) {
  for (const auto& [h, w, c] : {std::tuple{7, 7, 64}, {14, 13, 130}, {3, 50, 5}, {1, 1, 8}, {60, 60, 3}}) {
    const std::int64_t pixel = c + 16;
    const std::int64_t line = w * pixel + 32;
    LoopProgram p = program_over({2, c, h, w}, 2);
    const Reg x = p.load({0, DType::f32, {h * line, 1, line, pixel}});
    const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), p.constant(1.0 / (h * w)));
    const Reg d = p.prim(Prim::sub, x, mean);
    const Reg variance =
        p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), p.constant(1.0 / (h * w)));
    p.store({1, DType::f32, {c, 1, 0, 0}}, mean);
    p.store({2, DType::f32, {h * line, 1, line, pixel}}, p.prim(Prim::mul, d, p.prim(Prim::rsqrt, variance)));
    expect_matches_reference(p, [](LoopBuffers& b) { b.as<float>(2)[0] = 0; });
  }
}

TEST_P(Loop, SoftmaxAlongADimThatIsNotTheLast) {
  for (const auto& [outer, length, inner] : {std::tuple{3, 17, 40}, {2, 300, 5}, {1, 3000, 33}, {2, 4, 2}}) {
    LoopProgram p = program_over({outer, inner, length}, 1);
    const LoopOperand in = {0, DType::f32, {length * inner, 1, inner}};
    LoopOperand out = in;
    out.buffer = 1;
    const Reg x = p.load(in);
    const Reg e = p.prim(Prim::exp, p.prim(Prim::sub, x, p.reduce(Reduce::max, x)));
    p.store(out, p.prim(Prim::mul, e, p.prim(Prim::recip, p.reduce(Reduce::sum, e))));
    expect_matches_reference(p);
  }
}

TEST_P(Loop, ReducesEverythingToOneNumber) {
  for (const std::int64_t n : {1, 1000, 300000}) {
    LoopProgram p = program_over({n}, 1);
    const Reg x = p.load(dense(p, 0));
    p.store({1, DType::f32, {0}},
            p.prim(Prim::mul, p.reduce(Reduce::sum, x), p.constant(1.0 / static_cast<double>(n))));
    p.store({2, DType::i64, {0}}, p.reduce(Reduce::argmax, x));
    expect_matches_reference(p);
  }
}

TEST_P(Loop, ReductionsOfRowValuesAndOfEmptyRows) {
  LoopProgram p = program_over({3, 12}, 1);
  const Reg row = p.load({0, DType::f32, {1, 0}});
  p.store({1, DType::f32, {1, 0}}, p.reduce(Reduce::sum, row));
  p.store({2, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.constant(2)));
  p.store({3, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.load({4, DType::f32, {0, 1}})));
  expect_matches_reference(p);

  LoopProgram empty = program_over({3, 0}, 1);
  const Reg x = empty.load(dense(empty, 0));
  empty.store({1, DType::f32, {1, 0}}, empty.reduce(Reduce::sum, x));
  empty.store({2, DType::f32, {1, 0}}, empty.reduce(Reduce::max, x));
  empty.store({3, DType::f32, {1, 0}}, empty.prim(Prim::exp, empty.reduce(Reduce::prod, x)));
  empty.store(dense(empty, 4), x);
  expect_matches_reference(empty);

  LoopProgram no_rows = softmax(0, 16);
  expect_matches_reference(no_rows);
}

TEST_P(Loop, IotaCountsAlongItsDim) {
  for (const Dims& dims : {Dims{4, 5}, Dims{3, 1500}, Dims{30, 40, 2}}) {
    LoopProgram p = program_over(dims);
    Reg sum = p.constant_int(0);
    for (std::size_t d = 0; d < dims.size(); ++d)
      sum = p.prim(Prim::add, p.prim(Prim::mul, sum, p.constant_int(100)), p.iota(static_cast<int>(d)));
    p.store(dense(p, 0, DType::i64), sum);
    p.store(dense(p, 1), p.cast(DType::f32, p.iota(0)));
    expect_matches_reference(p);
  }
  LoopProgram causal = program_over({9, 9}, 1);
  const Reg masked = causal.prim(Prim::gt, causal.iota(1), causal.iota(0));
  const Reg x = causal.prim(Prim::select, masked, causal.constant(-INFINITY), causal.load(dense(causal, 0)));
  const Reg e = causal.prim(Prim::exp, causal.prim(Prim::sub, x, causal.reduce(Reduce::max, x)));
  causal.store(dense(causal, 1), causal.prim(Prim::div, e, causal.reduce(Reduce::sum, e)));
  expect_matches_reference(causal);
}

/// They are held in narrower types than the 64 bits that the reference computes in.
TEST_P(Loop, RandomProgramsOfIntegersAreExact) {
  const char* const first = std::getenv("TENON_RANDOM_LOOPS");
  const auto seed = static_cast<unsigned>(first ? std::atoi(first) : 1);
  for (unsigned i = 0; i < (first ? 3000U : 150U) && !HasFailure(); ++i) {
    const LoopProgram program = RandomLoop(seed + i).make();
    expect_matches_reference(program);
    expect_matches_reference(program, fill_with_any_integers);
  }
}

TEST_P(Loop, EpilogueRunsOnATileAnywhereInTheOutput) {
  constexpr std::int64_t M = 50;
  constexpr std::int64_t N = 90;
  LoopProgram p = program_over({M, N});
  const Reg biased = p.prim(Prim::add, p.tile(), p.load({0, DType::f32, {0, 1}}));
  const Reg scaled = p.prim(Prim::mul, biased, p.load({1, DType::f32, {1, 0}}));
  const Reg sum = p.prim(Prim::add, scaled, p.load({2, DType::f32, {N + 5, 1}}));
  p.store({3, DType::f32, {N, 1}}, sum);
  p.store({4, DType::f16, {N, 1}}, p.prim(Prim::max, sum, p.constant(0)));
  std::vector<float> values(static_cast<std::size_t>(M * N));
  std::iota(values.begin(), values.end(), -1000.0f);
  LoopBuffers expected(p);
  LoopBuffers actual(p);
  run_reference(p, expected.pointers(), values.data());
  const LoopKernel kernel = LoopKernel::compile_epilogue(p, 14, 32);
  std::vector<std::byte> scratch(kernel.scratch_bytes(1) + 64);
  for (long r = 0; r < M; r += 14) {
    for (long c = 0; c < N; c += 32) {
      const long rows = std::min(14L, M - r);
      const long cols = std::min(32L, N - c);
      std::vector<float> tile(14 * 40);
      for (long i = 0; i < rows * cols; ++i)
        tile[static_cast<std::size_t>(i / cols * 40 + i % cols)] =
            values[static_cast<std::size_t>((r + i / cols) * N + c + i % cols)];
      kernel.run_on_tile({tile.data(), 40, r, c, rows, cols}, actual.pointers(), LoopBuffers::align(scratch));
    }
  }
  expect_close(actual, expected, p);
}

}  // namespace
}  // namespace tenon::cpu
