// Loop programs print as text, and malformed ones are refused with the place.
#include "kernels/loop_program.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

LoopProgram scaled_softmax() {
  LoopProgram p("softmax", {8, 128}, 1);
  const Reg raw = p.load({0, DType::f16, {128, 1}});
  const Reg x = p.prim(Prim::mul, raw, p.constant(0.125));
  const Reg top = p.reduce(Reduce::max, x);
  const Reg e = p.prim(Prim::exp, p.prim(Prim::sub, x, top));
  const Reg sum = p.reduce(Reduce::sum, e);
  p.store({1, DType::f32, {128, 1}, 64}, p.prim(Prim::div, e, sum));
  return p;
}

TEST(LoopProgram, PrintsAsText) {
  EXPECT_EQ(to_string(scaled_softmax()), R"(loop softmax [8 | 128] {
  %0 = load b0: f16 (128 | 1)
  %1 = constant 0.125 : f32
  %2 = mul %0, %1 : f32
  %3 = reduce max %2 : f32
  %4 = sub %2, %3 : f32
  %5 = exp %4 : f32
  %6 = reduce sum %5 : f32
  %7 = div %5, %6 : f32
  store b1+64: f32 (128 | 1), %7
}
)");
}

TEST(LoopProgram, PrintsIntegersCastsAndIota) {
  LoopProgram p("mask", {2, 3});
  const Reg column = p.iota(1);
  const Reg below = p.prim(Prim::lt, column, p.constant_int(2));
  p.store({0, DType::u8, {3, 1}}, p.cast(DType::u8, below));
  EXPECT_EQ(to_string(p), R"(loop mask [2, 3] {
  %0 = iota 1 : i64
  %1 = constant 2 : i64
  %2 = lt %0, %1 : bool
  %3 = cast %2 : u8
  store b0: u8 (3, 1), %3
}
)");
}

TEST(LoopProgram, KnowsWhatVariesOverTheRow) {
  const LoopProgram p = scaled_softmax();
  const std::vector<bool> expected = {true, false, true, false, true, true, false, true, true};
  EXPECT_EQ(varies_over_row(p), expected);
  EXPECT_EQ(p.buffer_count(), 2);
  verify(p);
}

/// The message of the InternalError that verify throws.
std::string refusal(const LoopProgram& p) {
  try {
    verify(p);
  } catch (const InternalError& e) { return e.what(); }
  return "accepted";
}

TEST(LoopProgram, RefusesWhatIsMalformed) {
  const LoopProgram good = scaled_softmax();
  EXPECT_EQ(refusal(good), "accepted");

  LoopProgram p = good;
  p.code.instructions[4].args[1] = 5;
  EXPECT_EQ(refusal(p), "loop program softmax: instruction 4: an argument is not defined before");
  p = good;
  p.code.instructions[1].type = DType::f64;
  EXPECT_EQ(refusal(p), "loop program softmax: instruction 2: operands of two types");
  p = good;
  p.code.operands[1].strides = {Stride::zero, Stride::one};
  p.shape.operands[1].strides = {0, 1};
  EXPECT_EQ(refusal(p), "loop program softmax: instruction 8: store writes one element twice");
  p = good;
  p.code.operands[1].dtype = DType::i32;
  EXPECT_EQ(refusal(p), "loop program softmax: instruction 8: store of another type");
  p = good;
  p.code.instructions[3].reduce = Reduce::any;
  EXPECT_EQ(refusal(p), "loop program softmax: instruction 3: any and all reduce bools, the others numbers");
  p = good;
  p.code.reduced = 0;
  EXPECT_EQ(refusal(p), "loop program softmax: instruction 3: reduce in a program without row dims");
  p = good;
  p.shape.operands[0].strides = {1};
  EXPECT_NE(refusal(p), "accepted");
}

LoopProgram mean_of_rows(std::int64_t rows, std::int64_t length, std::int64_t pitch, std::int64_t step = 1) {
  LoopProgram p("mean", {rows, length}, 1);
  const Reg x = p.load({0, DType::f32, {pitch, step}, rows});
  const Reg sum = p.reduce(Reduce::sum, x);
  p.store({1, DType::f32, {1, 0}}, p.prim(Prim::div, sum, p.count()));
  return p;
}

TEST(LoopProgram, OneCodeServesAllSizes) {
  const LoopProgram small = mean_of_rows(4, 5, 5), large = mean_of_rows(64, 100, 128);
  EXPECT_EQ(small.code, large.code);
  EXPECT_EQ(hash_of(small.code), hash_of(large.code));
  EXPECT_NE(small.shape, large.shape);
  EXPECT_EQ(to_string(large), R"(loop mean [64 | 100] {
  %0 = load b0+64: f32 (128 | 1)
  %1 = reduce sum %0 : f32
  %2 = constant 100 : f32
  %3 = div %1, %2 : f32
  store b1: f32 (1 | 0), %3
}
)");
}

TEST(LoopProgram, AnotherClassOfStrideIsOtherCode) {
  const LoopProgram dense = mean_of_rows(4, 5, 5);
  for (const auto& other : {mean_of_rows(4, 5, 10, 2), mean_of_rows(4, 5, 0), mean_of_rows(4, 5, 1)}) {
    EXPECT_NE(dense.code, other.code);
    EXPECT_NE(hash_of(dense.code), hash_of(other.code));
  }
}

TEST(LoopProgram, ARowValueMayBeStoredOnceARow) {
  LoopProgram p("sum", {4, 5}, 1);
  p.store({1, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.load({0, DType::f32, {5, 1}})));
  EXPECT_EQ(refusal(p), "accepted");
}

}  // namespace
}  // namespace tenon
