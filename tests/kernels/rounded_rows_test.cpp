// Epilogues of 16-bit results round where the operators that they stand for do.
#include "kernels/cpu/rounded_rows.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/scalar.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class FinishRoundedRows : public OnEveryIsa {};

float rounded(RoundedRows::To to, float x) {
  return to == RoundedRows::To::f16 ? cast<float>(DType::f16, x) : cast<float>(DType::bf16, x);
}

float expected(const RoundedRows& how, float x, float residual) {
  x = rounded(how.to, x);
  if (how.adds) x += residual;
  if (how.adds && how.rounds_sum) x = rounded(how.to, x);
  if (how.activation == Activation::relu) x = x < 0 ? 0 : x;
  return how.rounds_result ? rounded(how.to, x) : x;
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Numbers of all sizes, ties between two 16-bit numbers, overflow, denormal ones, NaN.
float number(std::size_t i) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array special{0.0f,
                               -0.0f,
                               1.00390625f,
                               1.01171875f,
                               1.00048828125f,
                               65519.0f,
                               65520.0f,
                               1e-7f,
                               -6e-8f,
                               3.3961775e38f,
                               infinity,
                               -infinity,
                               std::numeric_limits<float>::quiet_NaN()};
  if (i % 7 == 0) return special[i / 7 % special.size()];
  return std::ldexp(std::sin(static_cast<float>(i)), static_cast<int>(i % 40) - 20);
}

TEST_P(FinishRoundedRows, AsOneOperatorAfterTheOther) {
  constexpr long rows = 3, stride = 45, residual_stride = 41;
  for (const long cols : {1L, 15L, 16L, 37L})
    for (const auto to : {RoundedRows::To::f16, RoundedRows::To::bf16})
      for (int flags = 0; flags < 16; ++flags) {
        const RoundedRows how{.to = to,
                              .activation = flags & 1 ? Activation::relu : Activation::none,
                              .adds = (flags & 2) != 0,
                              .rounds_sum = (flags & 4) != 0,
                              .rounds_result = (flags & 8) != 0};
        std::vector<float> x(rows * stride), residual(rows * residual_stride);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = number(i);
        for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = number(3 * i + 5);
        const std::vector<float> before = x;
        finish_rounded(how, x.data(), stride, how.adds ? residual.data() : nullptr, residual_stride, rows,
                       cols);
        for (long r = 0; r < rows; ++r)
          for (long c = 0; c < stride; ++c) {
            const auto at = static_cast<std::size_t>(r * stride + c);
            const auto beside = static_cast<std::size_t>(r * residual_stride + std::min(c, cols - 1));
            const float wanted = c < cols ? expected(how, before[at], residual[beside]) : before[at];
            ASSERT_TRUE(same(x[at], wanted)) << before[at] << " gives " << x[at] << ", not " << wanted
                                             << ", flags " << flags << " at " << r << ", " << c;
          }
      }
}

TENON_EVERY_ISA(FinishRoundedRows);

}  // namespace
}  // namespace tenon::cpu
