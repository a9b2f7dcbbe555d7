// Steps of quantised models in one pass are what they are one after the other.
#include "kernels/cpu/coded_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/scalar.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

using Result = CodedRows::Result;

class FinishCodedRows : public OnEveryIsa {};

float apply(Prim p, float a, float b = 0) { return tenon::apply<float>(p, a, b); }

// As the operators of the graph: each result is stored before it is used.
float code_of(const Quantise& q, float x, DType type) {
  volatile float steps = q.multiplies ? x * q.scale : x / q.scale;
  volatile float whole = apply(Prim::round, steps);
  volatile float shifted = whole + q.zero;
  return cast<float>(type, apply(Prim::min, apply(Prim::max, shifted, q.low), q.high));
}
float number_of(const Dequantise& d, float code) {
  volatile float centred = code - d.zero;
  volatile float number = centred * d.scale;
  return number;
}
DType type_of(const Quantise& q) { return q.low < 0 ? DType::i8 : DType::u8; }

float expected(const CodedRows& how, float x, float residual) {
  volatile float v = x;
  if (how.rounds) v = number_of(how.of_first, code_of(how.first, v, type_of(how.first)));
  if (how.adds) v = v + (how.residual_type == DType::f32 ? residual : number_of(how.of_residual, residual));
  switch (how.activation.kind) {
    case Activation::Kind::relu: v = apply(Prim::max, v, 0); break;
    case Activation::Kind::clamp:
      v = apply(Prim::min, apply(Prim::max, v, how.activation.low), how.activation.high);
      break;
    case Activation::Kind::leaky_relu: v = v > 0 ? float{v} : v * how.activation.low; break;
    default: break;
  }
  if (how.result == Result::floats) return v;
  const float code = code_of(how.last, v, type_of(how.last));
  return how.result == Result::codes ? code : number_of(how.of_last, code);
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Numbers of all sizes, ties between two codes, overflow, denormal ones, NaN.
float number(std::size_t i) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array special{0.0F,  -0.0F,  0.25F,    0.75F,     -0.25F,
                               1.25F, 63.75F, -64.0F,   4194304.F, -8388609.F,
                               3e38F, 1e-42F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
  if (i % 5 == 0) return special[i / 5 % special.size()];
  return 90 * std::sin(static_cast<float>(i));
}

struct Residual {
  bool adds;
  DType type;
};

std::vector<CodedRows> forms() {
  const std::array codings{Quantise{.scale = 0.5F}, Quantise{.scale = 0.37F, .zero = 113},
                           Quantise{.scale = 2.7F, .multiplies = true, .zero = 255, .low = 3, .high = 254},
                           Quantise{.scale = 0.5F, .zero = -5, .low = -128, .high = 127}};
  const std::array activations{Activation::none, Activation::relu, Activation{Activation::Kind::clamp, -3, 6},
                               Activation{Activation::Kind::leaky_relu, 0.1F}};
  std::vector<CodedRows> all;
  for (const Residual residual : {Residual{false, DType::f32}, Residual{true, DType::f32},
                                  Residual{true, DType::u8}, Residual{true, DType::i8}})
    for (const Activation& activation : activations)
      for (const bool rounds : {false, true})
        for (const Result result : {Result::floats, Result::rounded, Result::codes})
          for (std::size_t i = 0; i < codings.size(); ++i)
            all.push_back({.rounds = rounds,
                           .first = codings[(i + 1) % codings.size()],
                           .of_first = {.scale = 0.43F, .zero = 7},
                           .adds = residual.adds,
                           .residual_type = residual.type,
                           .of_residual = {.scale = 0.61F, .zero = 101},
                           .activation = activation,
                           .result = result,
                           .last = codings[i],
                           .of_last = {.scale = 0.21F, .zero = 3}});
  return all;
}

TEST_P(FinishCodedRows, AsOneOperatorAfterTheOther) {
  constexpr long rows = 3, stride = 45, residual_stride = 41, codes_stride = 39;
  constexpr std::uint8_t untouched = 77;
  for (const CodedRows& how : forms())
    for (const long cols : {1L, 15L, 16L, 37L}) {
      std::vector<float> x(rows * stride), residual(rows * residual_stride);
      std::vector<std::uint8_t> residual_codes, codes(rows * codes_stride, untouched);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = number(i);
      for (std::size_t i = 0; i < residual.size(); ++i) {
        residual_codes.push_back(static_cast<std::uint8_t>(37 * i));
        residual[i] = number(3 * i + 5);
        if (how.residual_type == DType::u8) residual[i] = residual_codes[i];
        if (how.residual_type == DType::i8) residual[i] = static_cast<std::int8_t>(residual_codes[i]);
      }
      const std::vector<float> before = x;
      const void* const added = how.residual_type == DType::f32
                                    ? static_cast<const void*>(residual.data())
                                    : static_cast<const void*>(residual_codes.data());
      finish_coded(how, {.sums = x.data(),
                         .sums_stride = stride,
                         .residual = how.adds ? added : nullptr,
                         .residual_stride = residual_stride,
                         .codes = codes.data(),
                         .codes_stride = codes_stride,
                         .rows = rows,
                         .cols = cols});
      for (long r = 0; r < rows; ++r)
        for (long c = 0; c < codes_stride; ++c) {
          const auto at = static_cast<std::size_t>(r * stride + c);
          const float wanted =
              expected(how, before[at], residual[static_cast<std::size_t>(r * residual_stride + c)]);
          const std::uint8_t code = codes[static_cast<std::size_t>(r * codes_stride + c)];
          const bool is_written = c < cols, makes_codes = how.result == Result::codes;
          const float found = !makes_codes                     ? x[at]
                              : type_of(how.last) == DType::i8 ? static_cast<std::int8_t>(code)
                                                               : code;
          ASSERT_TRUE(same(found, is_written    ? wanted
                                  : makes_codes ? untouched
                                                : before[at]))
              << before[at] << " gives " << found << ", not " << wanted << ", at " << r << ", " << c;
        }
    }
}
// A quotient that is rounded otherwise than a division rounds it would lie on the other side of a tie.
TEST_P(FinishCodedRows, TiesAreThoseOfDivision) {
  float scale = 0x1p-60F;
  for (int i = 0; i < 400; ++i, scale *= 1.2345F) {
    const CodedRows how{.result = Result::codes, .last = {.scale = scale, .zero = 3}};
    std::vector<float> x;
    for (int tie = -8; tie < 520; ++tie) {
      const float near = 0.5F * static_cast<float>(tie) * scale;
      for (const float to : {-1.0F, 1.0F}) x.push_back(std::nextafter(near, to * 1e30F));
      x.push_back(near);
    }
    const std::vector<float> before = x;
    std::vector<std::uint8_t> codes(x.size());
    finish_coded(how, {.sums = x.data(), .codes = codes.data(), .rows = 1, .cols = std::ssize(x)});
    for (std::size_t k = 0; k < x.size(); ++k)
      ASSERT_EQ(codes[k], code_of(how.last, before[k], DType::u8)) << before[k] << " by " << scale;
  }
}
// Every code chooses another one.
TEST_P(FinishCodedRows, ByTable) {
  constexpr long cols = 45;
  for (const bool first_is_signed : {false, true})
    for (const bool is_signed : {false, true})
      for (const Result result : {Result::codes, Result::rounded}) {
        CodedRows how{.first = {.scale = 0.5F, .zero = 3, .low = 0, .high = 255},
                      .result = result,
                      .of_last = {.scale = 0.43F, .zero = 7},
                      .by_table = true,
                      .of_signed = is_signed};
        if (first_is_signed) how.first = {.scale = 0.5F, .zero = -9, .low = -128, .high = 127};
        for (std::size_t i = 0; i < how.table.size(); ++i)
          how.table[i] = static_cast<std::uint8_t>(91 * i + 5);
        for (long first = 0; first < 256; first += cols) {
          std::vector<float> x(cols);
          std::vector<std::uint8_t> codes(cols);
          for (long c = 0; c < cols; ++c)
            x[static_cast<std::size_t>(c)] =
                0.5F * static_cast<float>(first + c - (first_is_signed ? 119 : 3));
          const std::vector<float> before = x;
          finish_coded(how, {.sums = x.data(), .codes = codes.data(), .rows = 1, .cols = cols});
          for (std::size_t c = 0; c < x.size(); ++c) {
            const auto code = static_cast<std::uint8_t>(
                static_cast<int>(code_of(how.first, before[c], type_of(how.first))));
            const std::uint8_t chosen = how.table[code];
            const float number = is_signed ? static_cast<std::int8_t>(chosen) : chosen;
            if (result == Result::codes)
              ASSERT_EQ(codes[c], chosen) << before[c];
            else
              ASSERT_EQ(x[c], number_of(how.of_last, number)) << before[c];
          }
        }
      }
}
TENON_EVERY_ISA(FinishCodedRows);

}  // namespace
}  // namespace tenon::cpu
