// Products with a B of floats of 16 and 8 bits equal a plain double-precision loop over the same values.
#include <bit>
#include <tuple>

#include "base/half.h"
#include "kernels/cpu/gemm.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/gemm_reference.h"

namespace tenon::cpu {
namespace {

struct Form {
  DType type;
  bool a_is_bf16;
  bool b_is_widened = false;
};

class HalfGemmTest : public OnEveryIsa {
 protected:
  // B in the strides of `view`, in each 16-bit form, packed before and while it is used.
  template <class Check>
  void multiply(Gemm g, const Numbers& b, MatrixB view, const Check& check) {
    const Numbers before(std::vector<float>(g.c, g.c + (g.M - 1) * g.c_stride + g.N));
    for (const Form form : {Form{DType::f16, false}, Form{DType::bf16, false}, Form{DType::bf16, true},
                            Form{DType::bf16, true, true}}) {
      SCOPED_TRACE(std::string(name(form.type)) + (form.a_is_bf16 ? ", A of bf16 values" : "") +
                   (form.b_is_widened ? ", B of floats" : ""));
      std::vector<std::uint16_t> halves;
      for (long i = 0; i < b.size(); i++)
        halves.push_back(form.type == DType::f16 ? Half(b[i]).bits : BFloat16(b[i]).bits);
      g.b = {form.b_is_widened ? static_cast<const void*>(b.data()) : halves.data(), view.k_stride,
             view.n_stride, form.type, form.b_is_widened};
      g.a_is_bf16 = form.a_is_bf16;
      Numbers packed(packed_b_size(g.K, g.N, form.type));
      pack_b(g.K, g.N, g.b, packed.data(), pool_);
      Numbers scratch(gemm_scratch_size(g, pool_.threads()));
      for (const float* packed_b :
           {static_cast<const float*>(packed.data()), static_cast<const float*>(nullptr)}) {
        g.packed_b = packed_b;
        std::copy_n(before.data(), before.size(), g.c);
        gemm(g, scratch.data(), pool_);
        check();
        if (HasFatalFailure()) return;
      }
    }
  }
  ThreadPool pool_{2};
};
TENON_EVERY_ISA(HalfGemmTest);

TEST_P(HalfGemmTest, AnyShape) {
  for (const long M : {1, 2, 3, 5, 13, 15, 33, 131}) {
    for (const long N : {1, 16, 31, 32, 33, 129}) {
      for (const long K : {1, 2, 7, 16, 65, 300}) {
        const Numbers a = coarse_numbers(M * (K + 3), 1);
        const Numbers b = coarse_numbers(K * N, 2);
        const Numbers bias = random_numbers(N, 3);
        Numbers c(M * (N + 2), untouched);
        multiply({.M = M,
                  .N = N,
                  .K = K,
                  .a = a.data(),
                  .a_stride = K + 3,
                  .c = c.data(),
                  .c_stride = N + 2,
                  .epilogue = {.bias = bias.data()}},
                 b, {nullptr, N, 1}, [&] {
                   expect_equal({M, N, K, a, b, K + 3, &bias}, c, N + 2);
                 });
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A depth that is cut into blocks, where the sums wait in C; odd ones too.
TEST_P(HalfGemmTest, VeryLargeDepth) {
  for (const long K : {4097, 10000, 12291}) {
    for (const long M : {1, 9, 40}) {
      const long N = 140;
      const Numbers a = coarse_numbers(M * K, 1);
      const Numbers b = coarse_numbers(K * N, 2);
      const Numbers residual = random_numbers(M * N, 3);
      Numbers c(M * N, untouched);
      multiply(
          {.M = M,
           .N = N,
           .K = K,
           .a = a.data(),
           .a_stride = K,
           .c = c.data(),
           .c_stride = N,
           .epilogue = {.residual = residual.data(), .residual_stride = N, .activation = Activation::relu}},
          b, {nullptr, N, 1}, [&] {
            expect_equal({M, N, K, a, b, K, nullptr, &residual, true}, c, N);
          });
    }
  }
}

// They would meet in one set of the cache: they are read from a copy.
TEST_P(HalfGemmTest, RowsAMultipleOfAPageApart) {
  const long stride = 2048, N = 140;
  for (const long K : {stride, stride - 3})
    for (const long M : {8, 9, 150}) {
      const Numbers a = coarse_numbers(M * stride, 1), b = coarse_numbers(K * N, 2);
      Numbers c(M * N, untouched);
      multiply({.M = M, .N = N, .K = K, .a = a.data(), .a_stride = stride, .c = c.data(), .c_stride = N}, b,
               {nullptr, N, 1}, [&] {
                 expect_equal({M, N, K, a, b, stride}, c, N);
               });
      // In memory of 16 bits: half a page and two pages.
      for (const long halves_stride : {stride, 2 * stride}) {
        std::vector<std::uint16_t> halves(static_cast<std::size_t>(M * halves_stride)), weights;
        for (long i = 0; i < M * K; i++)
          halves[static_cast<std::size_t>(i / K * halves_stride + i % K)] =
              BFloat16(a[i / K * stride + i % K]).bits;
        for (long i = 0; i < K * N; i++) weights.push_back(BFloat16(b[i]).bits);
        Gemm g{.M = M,
               .N = N,
               .K = K,
               .a_stride = halves_stride,
               .b = {weights.data(), N, 1, DType::bf16},
               .c = c.data(),
               .c_stride = N};
        g.a_halves = halves.data();
        Numbers scratch(gemm_scratch_size(g, pool_.threads()));
        gemm(g, scratch.data(), pool_);
        expect_equal({M, N, K, a, b, stride}, c, N);
      }
    }
}

// They are packed as float16.
TEST_P(HalfGemmTest, Float8InAnyStrides) {
  const auto multiply_codes = [&]<class T>(T, DType type) {
    SCOPED_TRACE(name(type));
    const long M = 9, N = 37, K = 50;
    EXPECT_EQ(packed_b_size(K, N, type), packed_b_size(K, N, DType::f16));
    const Numbers a = coarse_numbers(M * K, 1);
    Numbers b = random_numbers(K * N, 2);
    std::vector<std::uint8_t> rows, columns(static_cast<std::size_t>(K * N));
    for (long i = 0; i < K * N; i++) {
      rows.push_back(T(b[i]).bits);
      columns[static_cast<std::size_t>(i % N * K + i / N)] = rows.back();
      b[i] = T(b[i]);
    }
    Numbers c(M * N);
    ThreadPool pool(2);
    for (const MatrixB& view : {MatrixB{rows.data(), N, 1, type}, MatrixB{columns.data(), 1, K, type}}) {
      Gemm g{.M = M, .N = N, .K = K, .a = a.data(), .a_stride = K, .b = view, .c = c.data(), .c_stride = N};
      Numbers packed(packed_b_size(K, N, type)), scratch(gemm_scratch_size(g, pool.threads()));
      pack_b(K, N, view, packed.data(), pool);
      for (const float* packed_b :
           {static_cast<const float*>(packed.data()), static_cast<const float*>(nullptr)}) {
        g.packed_b = packed_b;
        gemm(g, scratch.data(), pool);
        expect_equal({M, N, K, a, b, K}, c, N);
      }
    }
  };
  multiply_codes(Float8E4M3FN(), DType::f8e4m3fn);
  multiply_codes(Float8E5M2(), DType::f8e5m2);
  multiply_codes(Float8E4M3FNUZ(), DType::f8e4m3fnuz);
  multiply_codes(Float8E5M2FNUZ(), DType::f8e5m2fnuz);
}

// Linear weights, whose pairs lie together, and any others.
TEST_P(HalfGemmTest, AnyStrides) {
  const long M = 9, N = 37;
  for (const long K : {50, 51}) {
    const Numbers a = coarse_numbers(M * K, 1);
    const Numbers b = coarse_numbers(K * N, 2);
    Numbers transposed(K * N), spread(K * N * 3);
    for (long k = 0; k < K; k++) {
      for (long n = 0; n < N; n++) {
        transposed[n * K + k] = b[k * N + n];
        spread[(n * K + k) * 3] = b[k * N + n];
      }
    }
    Numbers c(M * N, untouched);
    const Gemm g{.M = M, .N = N, .K = K, .a = a.data(), .a_stride = K, .c = c.data(), .c_stride = N};
    const auto check = [&] { expect_equal({M, N, K, a, b, K}, c, N); };
    multiply(g, transposed, {nullptr, 1, K}, check);
    multiply(g, spread, {nullptr, 3, 3 * K}, check);
  }
}

void add_place(const void*, float* tile, long stride, long row0, long rows, long col0, long cols) {
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < cols; c++) tile[r * stride + c] += static_cast<float>(1000 * (row0 + r) + col0 + c);
}

TEST_P(HalfGemmTest, HookSeesEveryElementOnce) {
  for (const long M : {1, 7, 60}) {
    const long N = 70, K = 41;
    const Numbers a = coarse_numbers(M * K, 1);
    const Numbers b = coarse_numbers(K * N, 2);
    Numbers c(M * N, untouched);
    multiply({.M = M,
              .N = N,
              .K = K,
              .a = a.data(),
              .a_stride = K,
              .c = c.data(),
              .c_stride = N,
              .epilogue = {.hook = add_place}},
             b, {nullptr, N, 1}, [&] {
               const Reference expected{M, N, K, a, b, K};
               for (long i = 0; i < M * N; i++)
                 ASSERT_NEAR(c[i], expected.at(i / N, i % N) + static_cast<double>(1000 * (i / N) + i % N),
                             1e-2);
             });
  }
}

}  // namespace
}  // namespace tenon::cpu
