// Activations in kernels: the same bits as the loop of the same function on the same kernel's plain result.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/loop_kernel.h"
#include "kernels/cpu/loop_patterns.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/numbers.h"

namespace tenon::cpu {
namespace {

using Kind = Activation::Kind;

struct Case {
  const char* name;
  Activation activation;
  Reg (*spell)(LoopProgram& p, Reg x);
  double (*value)(double x);
};

Reg ramp(LoopProgram& p, Reg x, double top = 6) {
  const Reg shifted = p.prim(Prim::add, p.constant(3), x);
  return p.prim(Prim::min, p.prim(Prim::max, shifted, p.constant(0)), p.constant(top));
}
double ramp(double x) { return std::min(std::max(x + 3, 0.0), 6.0); }
double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

Reg gelu_tanh(LoopProgram& p, Reg x, Reg cube) {
  const Reg sum = p.prim(Prim::add, x, p.prim(Prim::mul, p.constant(0.044715), cube));
  const Reg t = p.prim(Prim::tanh, p.prim(Prim::mul, p.constant(0.7978845608028654), sum));
  return p.prim(Prim::mul, p.prim(Prim::mul, x, p.constant(0.5)), p.prim(Prim::add, p.constant(1), t));
}
Reg leaky(LoopProgram& p, Reg x, Prim test) {
  return p.prim(Prim::select, p.prim(test, x, p.constant(0)), x, p.prim(Prim::mul, x, p.constant(0.1)));
}

const Case cases[] = {
    {"relu", Activation::relu, [](LoopProgram& p, Reg x) { return p.prim(Prim::max, x, p.constant(0)); },
     [](double x) { return std::max(x, 0.0); }},
    {"clamp",
     {Kind::clamp, -1, 2},
     [](LoopProgram& p, Reg x) {
       return p.prim(Prim::min, p.prim(Prim::max, x, p.constant(-1)), p.constant(2));
     },
     [](double x) { return std::min(std::max(x, -1.0), 2.0); }},
    {"relu6, upper bound first",
     {Kind::clamp, 0, 6},
     [](LoopProgram& p, Reg x) {
       return p.prim(Prim::max, p.prim(Prim::min, p.constant(6), x), p.constant(0));
     },
     [](double x) { return std::max(std::min(x, 6.0), 0.0); }},
    {"upper bound",
     {Kind::clamp, -std::numeric_limits<float>::infinity(), 1.5f},
     [](LoopProgram& p, Reg x) { return p.prim(Prim::min, x, p.constant(1.5)); },
     [](double x) { return std::min(x, 1.5); }},
    {"leaky_relu",
     {Kind::leaky_relu, 0.1f},
     [](LoopProgram& p, Reg x) { return leaky(p, x, Prim::gt); },
     [](double x) { return x > 0 ? x : 0.1 * x; }},
    {"hardsigmoid",
     {Kind::hardsigmoid},
     [](LoopProgram& p, Reg x) { return p.prim(Prim::div, ramp(p, x), p.constant(6)); },
     [](double x) { return ramp(x) / 6; }},
    {"hardswish",
     {Kind::hardswish},
     [](LoopProgram& p, Reg x) { return p.prim(Prim::div, p.prim(Prim::mul, x, ramp(p, x)), p.constant(6)); },
     [](double x) { return x * ramp(x) / 6; }},
    {"sigmoid",
     {Kind::sigmoid},
     [](LoopProgram& p, Reg x) { return p.prim(Prim::sigmoid, x); },
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"silu",
     {Kind::silu},
     [](LoopProgram& p, Reg x) { return p.prim(Prim::mul, p.prim(Prim::sigmoid, x), x); },
     [](double x) { return x / (1 + std::exp(-x)); }},
    {"tanh",
     {Kind::tanh},
     [](LoopProgram& p, Reg x) { return p.prim(Prim::tanh, x); },
     [](double x) { return std::tanh(x); }},
    {"gelu",
     {Kind::gelu},
     [](LoopProgram& p, Reg x) {
       const Reg erf = p.prim(Prim::erf, p.prim(Prim::mul, x, p.constant(0.70710678118654752)));
       return p.prim(Prim::mul, p.prim(Prim::mul, x, p.constant(0.5)), p.prim(Prim::add, p.constant(1), erf));
     },
     [](double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); }},
    {"gelu by tanh",
     {Kind::gelu_tanh},
     [](LoopProgram& p, Reg x) { return gelu_tanh(p, x, p.prim(Prim::mul, p.prim(Prim::mul, x, x), x)); },
     gelu_tanh},
    {"gelu by tanh of a power",
     {Kind::gelu_tanh},
     [](LoopProgram& p, Reg x) { return gelu_tanh(p, x, p.prim(Prim::pow, x, p.constant(3))); },
     gelu_tanh},
};

// added + activation(x) of rows x cols floats, by the loop kernel.
Numbers by_loop(const Case& one, const Numbers& x, const Numbers* added) {
  LoopProgram p(one.name, {x.size()});
  Reg r = one.spell(p, p.load({.buffer = 0, .strides = {1}}));
  if (added) r = p.prim(Prim::add, p.load({.buffer = 1, .strides = {1}}), r);
  p.store({.buffer = 2, .strides = {1}}, r);
  const LoopKernel kernel = LoopKernel::compile(p);
  ThreadPool pool(1);
  Numbers in = x, other = added ? *added : Numbers(1), out(x.size());
  std::vector<char> scratch(kernel.scratch_bytes(1) + 64);
  void* const aligned =
      reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) & ~63ul);
  void* const buffers[] = {in.data(), other.data(), out.data()};
  kernel.run(buffers, aligned, pool);
  return out;
}

void expect_same_bits(const Numbers& got, const Numbers& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (long i = 0; i < got.size(); i++) {
    if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
    const float a = got[i], b = expected[i];
    ASSERT_EQ(std::memcmp(&a, &b, sizeof(float)), 0) << what << " at " << i << ": " << a << ", not " << b;
  }
}

const float special[] = {0.0f,
                         -0.0f,
                         3.0f,
                         -3.0f,
                         6.0f,
                         1e30f,
                         -1e30f,
                         1e-40f,
                         std::nanf(""),
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};

TEST(LoopPatterns, RecogniseActivationsInTheirSpellings) {
  for (const Case& one : cases) {
    LoopProgram p(one.name, {4});
    const Reg x = p.load({.buffer = 0, .strides = {1}});
    const Reg r = one.spell(p, x);
    p.store({.buffer = 1, .strides = {1}}, r);
    const auto found = LoopPatterns(p).activation(r);
    ASSERT_TRUE(found) << one.name;
    EXPECT_EQ(found->of, x) << one.name;
    EXPECT_EQ(found->function, one.activation) << one.name;
  }
}

TEST(LoopPatterns, DeclineWhatIsAlmostAnActivation) {
  using Spell = Reg (*)(LoopProgram&, Reg x, Reg y);
  const std::pair<const char*, Spell> almost[] = {
      {"a ramp to 5",
       [](LoopProgram& p, Reg x, Reg) { return p.prim(Prim::div, ramp(p, x, 5), p.constant(6)); }},
      {"the gate of another value",
       [](LoopProgram& p, Reg x, Reg y) { return p.prim(Prim::mul, p.prim(Prim::sigmoid, x), y); }},
      {"the ramp of another value",
       [](LoopProgram& p, Reg x, Reg y) {
         return p.prim(Prim::div, p.prim(Prim::mul, y, ramp(p, x)), p.constant(6));
       }},
      {"at least", [](LoopProgram& p, Reg x, Reg) { return leaky(p, x, Prim::ge); }},
      {"an upper bound of zero",
       [](LoopProgram& p, Reg x, Reg) { return p.prim(Prim::min, x, p.constant(0)); }},
      {"no bound", [](LoopProgram& p, Reg x, Reg y) { return p.prim(Prim::max, x, y); }},
      {"a cube of another value",
       [](LoopProgram& p, Reg x, Reg y) { return gelu_tanh(p, x, p.prim(Prim::pow, y, p.constant(3))); }},
  };
  for (const auto& [name, spell] : almost) {
    LoopProgram p(name, {4});
    const Reg x = p.load({.buffer = 0, .strides = {1}}), y = p.load({.buffer = 1, .strides = {1}});
    const Reg r = spell(p, x, y);
    p.store({.buffer = 2, .strides = {1}}, r);
    EXPECT_FALSE(LoopPatterns(p).activation(r)) << name;
  }
}

class ActivationTest : public OnEveryIsa {};
TENON_EVERY_ISA(ActivationTest);

TEST_P(ActivationTest, LoopsComputeTheFunctions) {
  const Numbers x = random_numbers(1000, 5);
  Numbers wide(x.size());
  for (long i = 0; i < x.size(); i++) wide[i] = 9 * x[i];
  for (const Case& one : cases) {
    const Numbers got = by_loop(one, wide, nullptr);
    for (long i = 0; i < x.size(); i++) {
      const double expected = one.value(double{wide[i]});
      ASSERT_NEAR(got[i], expected, 2e-6 + 4e-7 * std::fabs(expected)) << one.name << "(" << wide[i] << ")";
    }
  }
}

TEST_P(ActivationTest, ProductsApplyThemAsLoopsDo) {
  ThreadPool pool(1);
  for (const auto& size : {std::pair{1L, 8L}, std::pair{3L, 70L}, std::pair{14L, 16L}, std::pair{29L, 24L},
                           std::pair{20L, 48L}, std::pair{16L, 33L}, std::pair{131L, 3L}}) {
    const long M = size.first, N = size.second;
    for (const long K : {1, 5000}) {
      Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
      if (K == 1) {  // the sums are these values
        b = Numbers(N, 1.0f);
        for (long m = 0; m < M; m++) a[m] = m < 11 ? special[m] : 5 * a[m];
      }
      const Numbers added = random_numbers(M * N, 3), bias = random_numbers(N, 4);
      Numbers packed(packed_b_size(K, N));
      pack_b(K, N, {b.data(), N, 1}, packed.data(), pool);
      const auto product = [&](const Activation& activation, bool adds) {
        Numbers c(M * N, untouched);
        gemm({.M = M,
              .N = N,
              .K = K,
              .a = a.data(),
              .a_stride = K,
              .packed_b = packed.data(),
              .c = c.data(),
              .c_stride = N,
              .epilogue = {.bias = K == 1 ? nullptr : bias.data(),
                           .activation = activation,
                           .added = adds ? added.data() : nullptr,
                           .added_stride = N}},
             nullptr, pool);
        return c;
      };
      const Numbers plain = product(Activation::none, false);
      for (const Case& one : cases) {
        for (const bool adds : {false, true}) {
          expect_same_bits(product(one.activation, adds), by_loop(one, plain, adds ? &added : nullptr),
                           std::string(one.name) + (adds ? " and a residual, " : ", ") + std::to_string(M) +
                               " x " + std::to_string(N) + " x " + std::to_string(K));
        }
      }
    }
  }
}

TEST_P(ActivationTest, ConvolutionsApplyThemAsLoopsDo) {
  ThreadPool pool(1);
  const auto square = [](long size, long kernel, long stride) {
    return ConvAxis{
        .in = size, .kernel = kernel, .stride = stride, .pad_before = kernel / 2, .pad_after = kernel / 2};
  };
  const ConvShape shapes[] = {
      {.Cin = 16, .Cout = 24, .h = square(9, 3, 1), .w = square(7, 3, 1)},
      {.N = 2, .Cin = 35, .Cout = 35, .h = square(5, 3, 1), .w = square(17, 3, 1), .groups = 35},
      {.Cin = 16, .Cout = 16, .h = square(9, 5, 2), .w = square(9, 5, 2), .groups = 16},
      {.Cin = 6, .Cout = 10, .h = square(4, 3, 2), .w = square(5, 3, 2), .transposed = true}};
  for (const ConvShape& s : shapes) {
    const Numbers in = random_numbers(s.N * s.in_pixels() * s.Cin, 1);
    const Numbers weights = random_numbers(s.Cin * s.Cout / s.groups * s.taps(), 2);
    const long size = s.N * s.out_pixels() * s.Cout;
    const Numbers bias = random_numbers(s.Cout, 3), residual = random_numbers(size, 4),
                  added = random_numbers(size, 5);
    for (const ConvAlgorithm algorithm : conv_algorithms) {
      if (!conv_supports(s, algorithm)) continue;
      Numbers packed(conv_packed_size(s, algorithm)), scratch(conv_scratch_size(s, algorithm, 1));
      pack_conv(s, algorithm, weights.data(), packed.data(), pool);
      const auto result = [&](const Activation& activation, bool adds) {
        Numbers out(size, untouched);
        conv(s, algorithm,
             {.in = in.data(),
              .in_stride = s.Cin,
              .packed = packed.data(),
              .weights = weights.data(),
              .out = out.data(),
              .out_stride = s.Cout,
              .epilogue = {.bias = bias.data(),
                           .residual = residual.data(),
                           .residual_stride = s.Cout,
                           .activation = activation,
                           .added = adds ? added.data() : nullptr,
                           .added_stride = s.Cout},
              .scratch = scratch.data()},
             pool);
        return out;
      };
      const Numbers plain = result(Activation::none, false);
      for (const Case& one : cases) {
        for (const bool adds : {false, true}) {
          expect_same_bits(
              result(one.activation, adds), by_loop(one, plain, adds ? &added : nullptr),
              std::string(one.name) + (adds ? " and a residual, " : ", ") + std::string(name(algorithm)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
