// Epilogues of 16-bit results round where the operators that they stand for do.
#include "kernels/cpu/rounded_rows.h"

#include <array>
#include <bit>
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
  if (!how.adds || !how.adds_to_sum) x = rounded(how.to, x);
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

std::uint16_t bits(RoundedRows::To to, float x) {
  return to == RoundedRows::To::f16 ? Half(x).bits : BFloat16(x).bits;
}
float number_of(RoundedRows::To to, std::uint16_t bits) {
  return to == RoundedRows::To::f16 ? float(std::bit_cast<Half>(bits)) : float(std::bit_cast<BFloat16>(bits));
}

// With residuals of float32 and of 16 bits; in place, or to memory of 16 bits, which rounds what is not yet.
TEST_P(FinishRoundedRows, AsOneOperatorAfterTheOther) {
  constexpr long rows = 3, stride = 45, residual_stride = 41, halves_stride = 39;
  for (const long cols : {1L, 15L, 16L, 37L})
    for (const auto to : {RoundedRows::To::f16, RoundedRows::To::bf16})
      for (int flags = 0; flags < 128; ++flags) {
        const bool to_halves = (flags & 32) != 0;
        const RoundedRows how{.to = to,
                              .activation = flags & 1 ? Activation::relu : Activation::none,
                              .adds = (flags & 2) != 0,
                              .adds_to_sum = (flags & 64) != 0,
                              .rounds_sum = (flags & 4) != 0,
                              .rounds_result = (flags & 8) != 0,
                              .residual_is_half = (flags & 16) != 0};
        std::vector<float> x(rows * stride), residual(rows * residual_stride);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = number(i);
        for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = number(3 * i + 5);
        std::vector<std::uint16_t> residual_halves, halves(rows * halves_stride, 7);
        for (float& r : residual) {
          residual_halves.push_back(bits(to, r));
          if (how.residual_is_half) r = number_of(to, residual_halves.back());
        }
        const std::vector<float> before = x;
        std::array<long, rows> x_rows, residual_rows, halves_rows;
        for (long r = 0; r < rows; ++r) {
          const auto i = static_cast<std::size_t>(r);
          x_rows[i] = r * stride;
          residual_rows[i] = r * residual_stride;
          halves_rows[i] = r * halves_stride;
        }
        const void* const added = how.residual_is_half ? static_cast<const void*>(residual_halves.data())
                                                       : static_cast<const void*>(residual.data());
        finish_rounded(how, {.sums = x.data(),
                             .sums_rows = x_rows.data(),
                             .residual = how.adds ? added : nullptr,
                             .residual_rows = residual_rows.data(),
                             .halves = to_halves ? halves.data() : nullptr,
                             .halves_rows = halves_rows.data(),
                             .rows = rows,
                             .cols = cols});
        for (long r = 0; r < rows; ++r)
          for (long c = 0; c < stride; ++c) {
            const auto at = static_cast<std::size_t>(r * stride + c);
            const auto beside = static_cast<std::size_t>(r * residual_stride + std::min(c, cols - 1));
            float wanted = c < cols ? expected(how, before[at], residual[beside]) : before[at];
            float found = x[at];
            if (to_halves && c < halves_stride) {
              const std::uint16_t stored = halves[static_cast<std::size_t>(r * halves_stride + c)];
              found = c < cols ? number_of(to, stored) : stored;
              wanted = c < cols ? rounded(to, wanted) : 7;
            }
            ASSERT_TRUE(same(found, wanted)) << before[at] << " gives " << found << ", not " << wanted
                                             << ", flags " << flags << " at " << r << ", " << c;
          }
      }
}

TENON_EVERY_ISA(FinishRoundedRows);

}  // namespace
}  // namespace tenon::cpu
