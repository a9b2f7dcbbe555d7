// Products with a B of 8- or 4-bit codes equal a plain double-precision loop over the numbers they stand for.
#include "kernels/cpu/quantized_gemm.h"

#include <random>

#include "tests/kernels/every_isa.h"
#include "tests/kernels/gemm_reference.h"

namespace tenon::cpu {
namespace {

struct Codes {
  const char* name;
  DType type;
  int low, high;            // of the codes
  int low_zero, high_zero;  // of the zero points; equal: one for all
  int bits;                 // they are kept in, where the depth is a multiple of 8
  bool has_zeros;           // kept beside them
};

constexpr Codes every_kind[] = {
    {"i8, symmetric", DType::i8, -128, 127, 0, 0, 8, false},
    {"i8, zero points", DType::i8, -128, 127, -20, 20, 8, true},
    {"i8, one zero point", DType::i8, -100, 100, 7, 7, 8, false},
    {"i8, one zero point too far from the codes", DType::i8, -128, 127, 7, 7, 8, true},
    {"u8, zero points", DType::u8, 0, 255, 100, 150, 8, true},
    {"u8, 128 is zero", DType::u8, 0, 255, 128, 128, 8, false},
    {"4 bits, 8 is zero", DType::u8, 0, 15, 8, 8, 4, false},
    {"4 bits, signed", DType::i8, -8, 7, 0, 0, 4, false},
    {"4 bits, zero points", DType::u8, 0, 15, 0, 15, 4, true},
};

// Codes of B as N rows of K, and the numbers as K rows of N.
struct Quantized {
  Quantized(const Codes& kind, long K, long N, long group) : b(K * N) {
    std::mt19937 engine(5);
    const long groups = (K + group - 1) / group;
    const auto draw = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(engine);
    };
    for (long i = 0; i < K * N; i++) codes.push_back(static_cast<std::uint8_t>(draw(kind.low, kind.high)));
    for (long i = 0; i < groups * N; i++) {
      scales.push_back(static_cast<float>(draw(1, 100)) / 4096.0F);
      zeros.push_back(static_cast<std::int16_t>(draw(kind.low_zero, kind.high_zero)));
    }
    for (long k = 0; k < K; k++) {
      rows.push_back(k);
      for (long n = 0; n < N; n++) {
        const auto i = static_cast<std::size_t>(k / group * N + n);
        const std::uint8_t byte = codes[static_cast<std::size_t>(n * K + k)];
        const int code = kind.type == DType::i8 ? static_cast<std::int8_t>(byte) : byte;
        b[k * N + n] = static_cast<float>(code - zeros[i]) * scales[i];
      }
    }
    for (long n = 0; n < N; n++) columns.push_back(n * K);
    view = {codes.data(), kind.type, rows.data(), columns.data(), scales.data(), zeros.data()};
    form = *QuantizedForm::of(K, group, {kind.low, kind.high, kind.low_zero, kind.high_zero});
  }
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
  std::vector<std::int16_t> zeros;
  std::vector<std::int64_t> rows, columns;
  Numbers b;
  QuantizedB view;
  QuantizedForm form;
};

class QuantizedGemmTest : public OnEveryIsa {
 protected:
  void multiply(QuantizedGemm g, const Quantized& q) {
    g.form = q.form.panels;
    std::vector<std::byte> packed(static_cast<std::size_t>(quantized_bytes(g.form, g.N)));
    pack_quantized(q.form, g.N, q.view, packed.data(), pool_);
    g.packed_b = packed.data();
    Numbers scratch(quantized_gemm_scratch_size(g, pool_.threads()));
    quantized_gemm(g, scratch.data(), pool_);
  }
  ThreadPool pool_{2};
};
TENON_EVERY_ISA(QuantizedGemmTest);

TEST_P(QuantizedGemmTest, AnyShapeAndGroup) {
  struct Depth {
    long K, group;
  };
  for (const Codes& kind : every_kind)
    for (const Depth depth : {Depth{1, 1}, {21, 21}, {50, 16}, {64, 64}, {96, 32}, {104, 32}})
      for (const long M : {1, 2, 3, 4, 5, 19})
        for (const long N : {1, 17, 32, 150}) {
          SCOPED_TRACE(kind.name);
          const Quantized q(kind, depth.K, N, depth.group);
          ASSERT_EQ(q.form.panels.bits, depth.K % 8 == 0 && depth.group % 8 == 0 ? kind.bits : 8);
          if (q.form.panels.bits == kind.bits) { ASSERT_EQ(q.form.panels.has_zeros, kind.has_zeros); }
          const Numbers a = random_numbers(M * (depth.K + 3), 1);
          const Numbers bias = random_numbers(N, 3), residual = random_numbers(M * N, 4);
          Numbers c(M * (N + 2), untouched);
          multiply({.M = M,
                    .N = N,
                    .a = a.data(),
                    .a_stride = depth.K + 3,
                    .c = c.data(),
                    .c_stride = N + 2,
                    .epilogue = {.bias = bias.data(),
                                 .residual = residual.data(),
                                 .residual_stride = N,
                                 .activation = Activation::relu}},
                   q);
          expect_equal({M, N, depth.K, a, q.b, depth.K + 3, &bias, &residual, true}, c, N + 2);
          if (HasFatalFailure()) return;
        }
}

void add_place(const void*, float* tile, long stride, long row0, long rows, long col0, long cols) {
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < cols; c++) tile[r * stride + c] += static_cast<float>(1000 * (row0 + r) + col0 + c);
}

TEST_P(QuantizedGemmTest, HookSeesEveryElementOnceAndRowsOfTheResidualAreChosen) {
  const long N = 300, K = 64;
  const Quantized q(every_kind[1], K, N, 32);
  for (const long M : {1, 3, 40}) {
    const Numbers a = random_numbers(M * K, 1), table = random_numbers(2 * N, 4);
    std::vector<long> rows;
    Numbers residual(M * N), c(M * N, untouched);
    for (long m = 0; m < M; m++) {
      rows.push_back((m + 1) % 2);
      for (long n = 0; n < N; n++)
        residual[m * N + n] = table[(m + 1) % 2 * N + n] + static_cast<float>(1000 * m + n);
    }
    multiply({.M = M,
              .N = N,
              .a = a.data(),
              .a_stride = K,
              .c = c.data(),
              .c_stride = N,
              .epilogue = {.residual = table.data(),
                           .residual_stride = N,
                           .hook = add_place,
                           .residual_rows = rows.data()}},
             q);
    const Reference expected{M, N, K, a, q.b, K, nullptr, &residual};
    for (long i = 0; i < M * N; i++) ASSERT_NEAR(c[i], expected.at(i / N, i % N), 1e-2) << i;
  }
}

// Several chunks of columns, on two threads.
TEST_P(QuantizedGemmTest, AResidualBehindTheActivationIsThatOfTheElement) {
  const long N = 900, K = 64;
  const Quantized q(every_kind[0], K, N, K);
  for (const long M : {1, 3, 19}) {
    const Numbers a = random_numbers(M * K, 1), added = random_numbers(M * (N + 5), 4);
    Numbers c(M * N, untouched);
    multiply({.M = M,
              .N = N,
              .a = a.data(),
              .a_stride = K,
              .c = c.data(),
              .c_stride = N,
              .epilogue = {.activation = Activation::relu, .added = added.data(), .added_stride = N + 5}},
             q);
    const Reference expected{M, N, K, a, q.b, K};
    for (long i = 0; i < M * N; i++)
      ASSERT_NEAR(
          c[i],
          std::max(0.0, expected.at(i / N, i % N)) + static_cast<double>(added[i / N * (N + 5) + i % N]),
          1e-3)
          << i;
  }
}

TEST_P(QuantizedGemmTest, CodesBeyondASignedByteNeedNoZeroPoints) {
  const long M = 3, N = 40, K = 21;
  Quantized q({"u8", DType::u8, 0, 255, 0, 0, 8, true}, K, N, K);
  q.view.zeros = nullptr;
  const Numbers a = random_numbers(M * K, 1);
  Numbers c(M * N, untouched);
  multiply({.M = M, .N = N, .a = a.data(), .a_stride = K, .c = c.data(), .c_stride = N}, q);
  expect_equal({M, N, K, a, q.b, K}, c, N);
}

// As a product of floats does, however many rows there are.
TEST_P(QuantizedGemmTest, AnInfinityStaysOneWhereAllWeightsArePositive) {
  const long N = 40, K = 64;
  const Quantized q({"i8 above its zero points", DType::i8, 100, 127, -20, 20, 8, true}, K, N, 32);
  for (const long M : {1, 4, 6}) {
    Numbers a = random_numbers(M * K, 1), c(M * N, untouched);
    a[5] = std::numeric_limits<float>::infinity();
    multiply({.M = M, .N = N, .a = a.data(), .a_stride = K, .c = c.data(), .c_stride = N}, q);
    for (long n = 0; n < N; n++) ASSERT_EQ(c[n], std::numeric_limits<float>::infinity()) << M << " rows";
  }
}

TEST(QuantizedFormTest, ZeroPointsBeyondAByteAreRefused) {
  EXPECT_FALSE(QuantizedForm::of(64, 32, {0, 255, 0, 300}));
  EXPECT_FALSE(QuantizedForm::of(64, 32, {-128, 127, 0, 200}));
  EXPECT_FALSE(QuantizedForm::of(64, 32, {0, 15, 0, 200}));
  EXPECT_TRUE(QuantizedForm::of(64, 32, {0, 15, 0, 100}));
}

}  // namespace
}  // namespace tenon::cpu
