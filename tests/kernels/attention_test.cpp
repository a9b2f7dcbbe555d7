// Attention is softmax(scale * Q K^T + mask) V, for any sizes, strides and masks.
#include "kernels/cpu/attention.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cpu/row_gemm.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class AttentionOnIsa : public OnEveryIsa {};
TENON_EVERY_ISA(AttentionOnIsa);

std::vector<float> random_floats(long n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(static_cast<std::size_t>(n));
  for (float& x : result) x = normal(random);
  return result;
}

/// The plain double loop; NaN-free. A row without keys is zero.
std::vector<double> reference(const Attention& a) {
  std::vector<double> out;
  for (long b = 0; b < a.batch; b++) {
    for (long h = 0; h < a.heads; h++) {
      const long g = h / (a.heads / a.kv_heads);
      for (long i = 0; i < a.queries; i++) {
        std::vector<double> weights;
        double total = 0;
        for (long j = 0; j < a.keys; j++) {
          double s = 0;
          for (long d = 0; d < a.size; d++) {
            s += static_cast<double>(
                     a.q[b * a.q_strides.batch + h * a.q_strides.head + i * a.q_strides.row + d]) *
                 static_cast<double>(
                     a.k[b * a.k_strides.batch + g * a.k_strides.head + j * a.k_strides.row + d]);
          }
          s *= static_cast<double>(a.scale);
          if (const double cap = static_cast<double>(a.softcap); cap > 0) s = cap * std::tanh(s / cap);
          const long m = b * a.mask_strides.batch + h * a.mask_strides.head + i * a.mask_strides.row +
                         j * a.mask_key_stride;
          if (a.float_mask) s += static_cast<double>(a.float_mask[m]);
          const bool hidden = (a.bool_mask && !a.bool_mask[m]) || (a.causal && j > i);
          weights.push_back(hidden ? 0 : std::exp(s));
          total += weights.back();
        }
        if (a.sink) total += std::exp(static_cast<double>(a.sink[h]));
        for (long c = 0; c < a.value_size; c++) {
          double sum = 0;
          for (long j = 0; j < a.keys; j++) {
            sum += weights[static_cast<std::size_t>(j)] *
                   static_cast<double>(
                       a.v[b * a.v_strides.batch + g * a.v_strides.head + j * a.v_strides.row + c]);
          }
          out.push_back(total == 0 ? 0 : sum / total);
        }
      }
    }
  }
  return out;
}

std::vector<float> run(const Attention& a, int threads) {
  ThreadPool pool(threads);
  std::vector<float> scratch(attention_scratch_bytes(a, threads) / 4 + 16);
  void* at = scratch.data();
  std::size_t space = scratch.size() * 4;
  attention(a, std::align(64, 1, at, space), pool);
  std::vector<float> out;
  for (long b = 0; b < a.batch; b++)
    for (long h = 0; h < a.heads; h++)
      for (long i = 0; i < a.queries; i++)
        for (long c = 0; c < a.value_size; c++)
          out.push_back(a.out[b * a.out_strides.batch + h * a.out_strides.head + i * a.out_strides.row + c]);
  return out;
}

void expect_attention(const Attention& a, double tolerance = 3e-6) {
  const std::vector<double> expected = reference(a);
  const std::vector<float> serial = run(a, 1);
  EXPECT_EQ(serial, run(a, 3));
  ASSERT_EQ(serial.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); i++) {
    ASSERT_NEAR(static_cast<double>(serial[i]), expected[i], tolerance)
        << a.queries << " queries, " << a.keys << " keys, at " << i;
  }
}

/// One buffer [batch, rows, heads * (q | k | v)], as a fused QKV projection leaves it, and a dense output.
struct FusedQkv {
  FusedQkv(long batch, long heads, long queries, long keys, long size, long value_size) {
    const long width = heads * (2 * size + value_size);
    const long rows = std::max(queries, keys);
    qkv = random_floats(batch * rows * width, 7);
    out.resize(static_cast<std::size_t>(batch * queries * heads * value_size), -1.0f);
    a.batch = batch;
    a.heads = heads;
    a.kv_heads = heads;
    a.queries = queries;
    a.keys = keys;
    a.size = size;
    a.value_size = value_size;
    a.q = qkv.data();
    a.k = a.q + heads * size;
    a.v = a.k + heads * size;
    a.out = out.data();
    a.q_strides = {rows * width, size, width};
    a.k_strides = a.q_strides;
    a.v_strides = {rows * width, value_size, width};
    a.out_strides = {queries * heads * value_size, value_size, heads * value_size};
    a.scale = 1.0f / std::sqrt(static_cast<float>(size));
  }
  std::vector<float> qkv;
  std::vector<float> out;
  Attention a;
};

TEST_P(AttentionOnIsa, ReadsFusedQkvInPlace) {
  for (const long rows : {1, 2, 3, 15, 16, 33, 128, 197})
    expect_attention(FusedQkv(2, 3, rows, rows, 64, 64).a);
}

TEST_P(AttentionOnIsa, OddSizesAndDifferentNumbersOfQueriesAndKeys) {
  expect_attention(FusedQkv(1, 2, 5, 77, 40, 24).a);
  expect_attention(FusedQkv(1, 2, 1, 300, 80, 130).a);
  expect_attention(FusedQkv(1, 1, 130, 3, 7, 5).a);
  expect_attention(FusedQkv(1, 1, 9, 1, 1, 1).a);
}

TEST_P(AttentionOnIsa, TakesAnyScale) {
  for (const float scale : {0.0f, -0.3f, 0.25f}) {
    FusedQkv f(1, 1, 20, 20, 16, 16);
    f.a.scale = scale;
    expect_attention(f.a);
  }
}

/// Weights are rounded to bfloat16, queries, keys and values are of it.
void expect_attention_of_bf16(FusedQkv f) {
  for (float& x : f.qkv) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u);
  f.a.of_bf16 = true;
  expect_attention(f.a, 0x1p-7);
}

TEST_P(AttentionOnIsa, MultipliesPairsOfBfloat16) {
  if (!runs_dot_of_bf16()) GTEST_SKIP() << "no instruction for it";
  for (const long rows : {1, 3, 16, 33, 197}) expect_attention_of_bf16(FusedQkv(2, 3, rows, rows, 64, 64));
  for (const auto& [queries, keys] : {std::pair{5L, 77L}, {130L, 3L}, {9L, 1L}, {20L, 31L}})
    for (const auto& [size, values] : {std::pair{40L, 24L}, {7L, 5L}, {1L, 1L}, {33L, 130L}})
      expect_attention_of_bf16(FusedQkv(1, 2, queries, keys, size, values));
  for (const float scale : {0.0f, -0.3f, 0.25f}) {
    FusedQkv f(1, 1, 20, 20, 16, 16);
    f.a.scale = scale;
    expect_attention_of_bf16(std::move(f));
  }
  FusedQkv causal(1, 2, 40, 40, 17, 16);
  causal.a.causal = true;
  expect_attention_of_bf16(std::move(causal));
}

TEST_P(AttentionOnIsa, CausalQueriesSeeTheirPast) {
  for (const auto& [queries, keys] :
       {std::pair{1L, 9L}, {2L, 2L}, {40L, 40L}, {150L, 150L}, {20L, 7L}, {7L, 20L}}) {
    FusedQkv f(1, 2, queries, keys, 16, 16);
    f.a.causal = true;
    expect_attention(f.a);
  }
}

TEST_P(AttentionOnIsa, MasksBroadcast) {
  for (const long queries : {2, 21}) {
    FusedQkv f(2, 2, queries, 30, 32, 32);
    const std::vector<float> mask = random_floats(2 * 2 * queries * 30, 3);
    f.a.float_mask = mask.data();
    f.a.mask_strides = {2 * queries * 30, queries * 30, 30};
    f.a.mask_key_stride = 1;
    expect_attention(f.a);
    f.a.mask_strides = {30, 0, 0};
    expect_attention(f.a);
    f.a.mask_strides = {0, 0, 1};
    f.a.mask_key_stride = queries;
    expect_attention(f.a);
    f.a.float_mask = nullptr;
    std::vector<std::uint8_t> allowed(mask.size());
    for (std::size_t i = 0; i < mask.size(); i++) allowed[i] = mask[i] > -0.5f;
    f.a.bool_mask = allowed.data();
    expect_attention(f.a);
    f.a.causal = true;
    expect_attention(f.a);
  }
}

TEST_P(AttentionOnIsa, RowsWithoutKeysAreZero) {
  for (const long queries : {2, 5}) {
    FusedQkv f(1, 1, queries, 20, 8, 8);
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(queries * 20), 1);
    std::fill_n(allowed.begin() + 20, 20, std::uint8_t{0});
    f.a.bool_mask = allowed.data();
    f.a.mask_strides.row = 20;
    f.a.mask_key_stride = 1;
    expect_attention(f.a);
    const std::vector<float> minus_infinity(20, -INFINITY);
    f.a.bool_mask = nullptr;
    f.a.float_mask = minus_infinity.data();
    f.a.mask_strides.row = 0;
    for (const float x : run(f.a, 1)) EXPECT_EQ(x, 0.0f);
    f.a.keys = 0;
    for (const float x : run(f.a, 1)) EXPECT_EQ(x, 0.0f);
  }
}

TEST_P(AttentionOnIsa, CapsScoresAndStandsBesideASink) {
  const float sinks[] = {-2.0f, 0.5f, 30.0f, -INFINITY, 200.0f};
  for (const long queries : {1, 3, 40})
    for (const long keys : {1, 50}) {
      FusedQkv f(2, 5, queries, keys, 16, 24);
      f.a.softcap = 0.5f;
      expect_attention(f.a);
      f.a.sink = sinks;
      f.a.causal = true;
      expect_attention(f.a);
      const std::vector<std::uint8_t> none(static_cast<std::size_t>(keys), 0);
      f.a.bool_mask = none.data();
      f.a.mask_key_stride = 1;
      f.a.heads = f.a.kv_heads = 3;  // whose sinks are numbers
      for (const float x : run(f.a, 1)) EXPECT_EQ(x, 0.0f);
    }
}

TEST_P(AttentionOnIsa, ASinkOfInfinityLeavesNoNumbersInItsHead) {
  const float sinks[] = {1.0f, INFINITY};
  FusedQkv f(1, 2, 3, 20, 16, 16);
  f.a.sink = sinks;
  const std::vector<float> out = run(f.a, 1);
  for (std::size_t i = 0; i < out.size(); i++) EXPECT_EQ(std::isnan(out[i]), i >= out.size() / 2) << i;
}

TEST_P(AttentionOnIsa, GroupedHeadsShareKeysAndValues) {
  FusedQkv f(1, 6, 40, 50, 16, 16);
  f.a.kv_heads = 2;
  expect_attention(f.a);
}

TEST_P(AttentionOnIsa, NanStaysInItsRow) {
  FusedQkv f(1, 1, 4, 4, 8, 8);
  f.qkv[0] = NAN;  // in query 0
  const std::vector<float> out = run(f.a, 1);
  for (std::size_t c = 0; c < 8; c++) {
    EXPECT_TRUE(std::isnan(out[c]));
    EXPECT_FALSE(std::isnan(out[8 + c]));
  }
}

}  // namespace
}  // namespace tenon::cpu
