#include "kernels/cpu/conv_strassen.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/strassen.h"

namespace tenon::cpu {
namespace {

long pixels(const ConvShape& s) { return s.N * s.in_pixels(); }

// Weights are [Cout, Cin].
MatrixB matrix_of(const ConvShape& s, const float* weights) {
  return {.data = weights, .k_stride = 1, .n_stride = s.Cin, .in_sums = true};
}

}  // namespace

bool conv_strassen_supports(const ConvShape& s) {
  const auto is_plain = [](const ConvAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_before == 0 && a.pad_after == 0;
  };
  return !s.transposed && s.groups == 1 && s.Cin % 2 == 0 && is_plain(s.d) && is_plain(s.h) && is_plain(s.w);
}

bool conv_strassen_pays(const ConvShape& s) { return strassen_pays(pixels(s), s.Cout, s.Cin); }

double conv_strassen_time(const ConvShape& s) {
  constexpr double much = 8;
  return conv_strassen_pays(s) ? strassen_time(pixels(s), s.Cout, s.Cin) : much;
}

long conv_strassen_packed_size(const ConvShape& s) {
  return packed_b_size(s.Cin, s.Cout, matrix_of(s, nullptr));
}

void pack_conv_strassen(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool) {
  pack_b(s.Cin, s.Cout, matrix_of(s, weights), packed, pool);
}

long conv_strassen_scratch_size(const ConvShape& s, int threads) {
  return gemm_scratch_size({.M = pixels(s), .N = s.Cout, .K = s.Cin, .b = matrix_of(s, nullptr)}, threads);
}

void conv_strassen(const ConvShape& s, const ConvRun& run, ThreadPool& pool) {
  gemm({.M = pixels(s),
        .N = s.Cout,
        .K = s.Cin,
        .a = run.in,
        .a_stride = run.in_stride,
        .packed_b = run.packed,
        .b = matrix_of(s, run.weights),
        .c = run.out,
        .c_stride = run.out_stride,
        .epilogue = run.epilogue,
        .first_row = run.first_row,
        .schedule = run.schedule},
       run.scratch, pool);
}

}  // namespace tenon::cpu
