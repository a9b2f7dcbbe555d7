#include "verify/selftest.h"

namespace tenon {
namespace {

constexpr std::string_view floats = "f32 f16 bf16 f64", gpu_floats = "f32 f16 bf16";

// Of numbers of both signs, and of those where most functions are defined.
#define FUNCTION_1(name)                                 \
  "(%x: T[N]) { %1 = special(%x, function=\"" name       \
  "\") %2 = abs(%x) %3 = add(%2, 1.1) %4 = special(%3, " \
  "function=\"" name "\") return %1, %4 }"
#define FUNCTION_2(name)                                                                                   \
  "(%x: T[N], %y: T[N]) { %1 = abs(%x) %2 = add(%1, 1.1) %3 = abs(%y) %4 = mul(%3, 4.0) %5 = special(%2, " \
  "%4, function=\"" name "\") %6 = special(%x, %4, function=\"" name "\") return %5, %6 }"

constexpr SelfTestRow rows[] = {
    {"pointwise",
     "(%x: T[N,M], %y: T[M]) { %1 = mul(%x, %y) %2 = tanh(%1) %3 = add(%2, 0.5) %4 = gelu(%3) return %4, %1 "
     "}",
     floats, "N=1 M=1; N=3 M=5; N=33 M=257; N=7 M=4096"},
    {"pointwise",
     "(%x: T[N,M]) { %1 = abs(%x) %2 = add(%1, 0.1) %3 = log(%2) %4 = sqrt(%2) %5 = exp(%3) %6 = pow(%2, "
     "1.5) "
     "%7 = sin(%x) %8 = erf(%x) return %3, %4, %5, %6, %7, %8 }",
     floats, "N=5 M=77"},
    {"pointwise",
     "(%x: T[N,M], %y: T[N,1]) { %1 = greater(%x, %y) %2 = minimum(%x, %y) %3 = where(%1, %2, %x) return %1, "
     "%3 }",
     "f32 f16 bf16 f64 i64 i32 u8", "N=1 M=3; N=40 M=65"},
    {"pointwise integers",
     "(%x: T[N], %y: T[N]) { %1 = add(%x, %y) %2 = mul(%1, 3) %3 = bit_and(%2, 2) %4 = maximum(%3, %y) "
     "return %2, %4 }",
     "i64 i32 i16 u8", "N=1; N=1000"},
#define SPECIAL(name, arity, meaning) {"special functions", FUNCTION_##arity(#name), "f32 f64", "N=300"},
#include "base/specials.def"
    {"divisors", "(%x: T[N], %y: T[N]) { %1 = mul(%x, 12) %2 = gcd(%1, %y) return %2 }", "i64 i32 u8",
     "N=1; N=300"},
    {"transforms",
     "(%x: T[N,M], %y: T[N,M]) { %1 = complex(%x, %y) %2 = fft(%1, inverse=false) %3 = real(%2) %4 = "
     "imag(%2) "
     "%5 = fft(%1, inverse=true) %6 = real(%5) %7 = imag(%5) return %3, %4, %6, %7 }",
     "f32 f64", "N=1 M=1; N=3 M=256; N=2 M=251; N=5 M=360; N=2 M=2100"},
    {"casts",
     "(%x: T[N,M]) { %1 = mul(%x, 3.0) %2 = cast(%1, to=i32) %3 = cast(%1, to=f16) %4 = cast(%1, to=bf16) "
     "%5 = cast(%1, to=f64) %6 = cast(%2, to=bool) return %2, %3, %4, %5, %6 }",
     floats, "N=3 M=50"},
    {"casts",
     "(%x: T[N,M]) { %1 = mul(%x, 300.0) %2 = cast(%1, to=f8e4m3fn) %3 = cast(%1, to=f8e5m2) %4 = cast(%2, "
     "to=f32) "
     "%5 = cast(%3, to=f16) return %2, %3, %4, %5 }",
     "f32", "N=3 M=50"},
    {"copies", "(%x: T[N,M,K]) { %1 = permute(%x, axes=[2,0,1]) %2 = flip(%1, axes=1) return %1, %2 }",
     "f32 f16 f64 u8 i64", "N=1 M=1 K=1; N=3 M=17 K=5; N=8 M=64 K=33"},
    {"copies",
     "(%x: T[N,M], %y: T[N,K]) { %1 = concat(%x, %y, axis=1) %2 = pad(%1, pads=[0,1,2,0]) "
     "%3 = slice(%2, axis=1, start=1, end=M) return %1, %2, %3 }",
     "f32 f16 i64", "N=1 M=3 K=1; N=19 M=64 K=33"},
    {"reductions",
     "(%x: T[N,M]) { %1 = sum(%x, axes=[1]) %2 = amax(%x, axes=[1]) %3 = argmax(%x, axis=1) %4 = mean(%x, "
     "axes=[1]) "
     "return %1, %2, %3, %4 }",
     floats, "N=1 M=1; N=3 M=7; N=300 M=33; N=5 M=1025; N=1 M=20000"},
    {"reductions", "(%x: T[N,M,K]) { %1 = sum(%x, axes=[0,1]) %2 = amin(%x, axes=[1]) return %1, %2 }",
     floats, "N=2 M=3 K=1; N=4 M=65 K=130; N=1 M=3000 K=3"},
    {"reductions", "(%x: T[N,M]) { %1 = sum(%x, axes=[0,1]) return %1 }", "f32 f64 i64",
     "N=1 M=1; N=9 M=3333"},
    {"row loops", "(%x: T[N,M]) { %1 = softmax(%x, axis=1) return %1 }", floats,
     "N=1 M=1; N=64 M=10; N=7 M=1000; N=2 M=5000"},
    {"row loops", "(%x: T[N,M]) { %1 = log_softmax(%x, axis=0) return %1 }", gpu_floats,
     "N=5 M=1; N=129 M=65"},
    {"row loops",
     "(%x: T[N,M], %y: T[N,M]) { @w : T[M] @b : T[M] %1 = add(%x, %y) %2 = layer_norm(%1, @w, @b) "
     "return %2 }",
     floats, "N=1 M=2; N=6 M=384; N=3 M=4097"},
    {"row loops", "(%x: T[N,M]) { @w : T[M] %1 = rms_norm(%x, @w) %2 = silu(%1) return %2 }", gpu_floats,
     "N=1 M=8; N=17 M=768"},
    {"row loops", "(%x: T[N,C,M]) { @w : T[C] @b : T[C] %1 = group_norm(%x, @w, @b, groups=4) return %1 }",
     gpu_floats, "N=1 C=4 M=1; N=2 C=32 M=49"},
    {"gathers", "(%x: T[N,M], %i: i64[K]) { %1 = index_select(%x, %i) %2 = exp(%1) return %2 }", floats,
     "N=1 M=1 K=1; N=50 M=33 K=700; N=9 M=1024 K=3"},
    {"gathers", "(%x: T[N,M], %i: i64[N,K]) { %1 = gather(%x, %i, axis=1) return %1 }", "f32 f16 i64",
     "N=1 M=3 K=2; N=21 M=65 K=100"},
    {"scatters",
     "(%x: T[N,M], %i: f32[K], %s: T[K,M]) { %1 = abs(%i) %2 = mul(%1, 31.0) %3 = cast(%2, to=i64) "
     "%4 = remainder(%3, N) %5 = index_add(%x, %4, %s) return %5 }",
     "f32 f64 i64", "N=1 M=1 K=5; N=11 M=33 K=200"},
    {"scatters",
     "(%x: T[N,M], %i: f32[N,K], %s: T[N,K]) { %1 = abs(%i) %2 = mul(%1, 31.0) %3 = cast(%2, to=i64) "
     "%4 = remainder(%3, M) %5 = scatter(%x, %4, %s, axis=1, reduce=\"sum\") return %5 }",
     "f32 f64 i64", "N=1 M=3 K=2; N=21 M=65 K=100"},
    {"scans", "(%x: T[N,M]) { %1 = cumsum(%x, axis=1) return %1 }", "f32 f64 i64",
     "N=1 M=1; N=3 M=70; N=2 M=3000"},
    {"sorts", "(%x: T[N,M]) { %1, %2 = sort(%x, axis=1) return %1, %2 }", "f32 f64 i64",
     "N=1 M=1; N=3 M=70; N=2 M=3000"},
    {"sorts", "(%x: T[N,M]) { %1, %2 = topk(%x, k=3, axis=1) return %1, %2 }", "f32 f64",
     "N=1 M=3; N=3 M=700"},
    {"products", "(%x: T[N,64]) { @w : f8e4m3fn[24,64] %1 = cast(@w, to=f32) %2 = linear(%x, %1) return %2 }",
     "f32", "N=1; N=3; N=70"},
    {"products", "(%x: T[N,K], %y: T[K,M]) { %1 = matmul(%x, %y) return %1 }", floats,
     "N=1 K=1 M=1; N=1 K=300 M=70; N=3 K=5 M=7; N=65 K=33 M=129; N=128 K=64 M=128; N=5 K=2000 M=3"},
    {"products",
     "(%x: T[B,N,K], %y: T[B,M,K]) { %1 = permute(%y, axes=[0,2,1]) %2 = matmul(%x, %1) return %2 }",
     gpu_floats, "B=1 N=1 K=8 M=1; B=6 N=17 K=64 M=33; B=3 N=64 K=1 M=5"},
    {"products",
     "(%x: T[N,K], %z: T[N,M]) { @w : T[M,K] @b : T[M] %1 = linear(%x, @w, @b) %2 = gelu(%1) %3 = add(%2, "
     "%z) "
     "return %3 }",
     gpu_floats, "N=1 K=8 M=1; N=1 K=513 M=1000; N=7 K=96 M=32; N=130 K=40 M=66"},
    {"convolutions",
     "(%x: T[N,C,H,W]) { @w : T[K,C,3,3] @b : T[K] %1 = conv(%x, @w, @b, pad=1) %2 = relu(%1) return %2 }",
     gpu_floats, "N=1 C=1 H=1 W=1 K=1; N=2 C=3 H=9 W=11 K=16; N=1 C=32 H=14 W=14 K=33"},
    {"convolutions",
     "(%x: T[N,C,H,W], %y: T[N,K,H,W]) { @w : T[K,C,1,1] %1 = conv(%x, @w) %2 = add(%1, %y) %3 = relu(%2) "
     "return %3 }",
     gpu_floats, "N=1 C=8 H=1 W=5 K=4; N=2 C=64 H=7 W=7 K=17"},
    {"convolutions",
     "(%x: T[N,C,H,W]) { @w : T[C,1,3,3] %1 = conv(%x, @w, stride=2, pad=1, groups=C) return %1 }",
     gpu_floats, "N=1 C=2 H=5 W=5; N=2 C=24 H=15 W=8"},
    {"convolutions",
     "(%x: T[N,C,H,W]) { @w : T[C,K,2,2] @b : T[K] %1 = conv_transpose(%x, @w, @b, stride=2) return %1 }",
     gpu_floats, "N=1 C=1 H=1 W=1 K=1; N=2 C=16 H=7 W=5 K=8"},
    {"convolutions",
     "(%x: T[N,C,W]) { @w : T[K,C,5] %1 = conv(%x, @w, pad=4, dilation=2) %2 = silu(%1) return %2 }",
     gpu_floats, "N=1 C=3 W=20 K=2; N=3 C=20 W=65 K=40"},
    {"pools", "(%x: T[N,C,H,W]) { %1 = max_pool(%x, kernel=3, stride=2, pad=1) return %1 }", gpu_floats,
     "N=1 C=1 H=3 W=3; N=2 C=17 H=12 W=15"},
    {"pools",
     "(%x: T[N,C,H,W]) { %1 = avg_pool(%x, kernel=2, stride=2) %2 = adaptive_avg_pool(%x, output=[3,1]) "
     "return %1, %2 }",
     gpu_floats, "N=1 C=1 H=3 W=3; N=2 C=17 H=12 W=15"},
    {"attention", "(%q: T[N,H,L,E], %k: T[N,H,S,E], %v: T[N,H,S,E]) { %1 = attention(%q, %k, %v) return %1 }",
     gpu_floats, "N=1 H=1 L=1 S=1 E=8; N=2 H=4 L=17 S=17 E=32; N=1 H=2 L=5 S=130 E=64"},
    {"attention",
     "(%q: T[N,H,L,E], %k: T[N,H,L,E], %v: T[N,H,L,E], %m: bool[N,1,1,L]) { %1 = attention(%q, %k, %v, %m) "
     "%2 = attention(%q, %k, %v, causal=true) return %1, %2 }",
     gpu_floats, "N=1 H=1 L=2 E=4; N=2 H=3 L=70 E=32"},
    {"linear algebra",
     "(%x: T[B,N,N], %y: T[B,N,K]) { %1 = permute(%x, axes=[0,2,1]) %2 = matmul(%x, %1) %3 = iota(size=N) "
     "%4 = reshape(%3, shape=[N,1]) %5 = equal(%3, %4) %6 = cast(%5, to=T) %7 = add(%2, %6) "
     "%8 = cholesky(%7) %9 = triangular_solve(%8, %y) %10 = solve(%7, %y) %11, %12, %13 = determinant(%8) "
     "return %8, %9, %10, %12, %13 }",
     "f32 f64", "B=1 N=1 K=1; B=3 N=5 K=2; B=2 N=33 K=40; B=1 N=100 K=1"},
    {"linear algebra",
     "(%x: T[B,N,M]) { %1, %2 = lu(%x) %3, %4 = qr(%x) %5, %6, %7 = svd(%x) return %1, %2, %3, %4, %6 }",
     "f32 f64", "B=1 N=1 M=1; B=2 N=7 M=20; B=1 N=90 M=40"},
    {"linear algebra",
     "(%x: T[B,N,N]) { %1 = permute(%x, axes=[0,2,1]) %2 = add(%x, %1) %3, %4 = eigh(%2) %5, %6 = eig(%x) "
     "%7 = real(%5) %8 = mul(%2, 0.1) %9 = matrix_exp(%8) %10, %11 = ldl_factor(%2) "
     "return %3, %4, %7, %9, %10, %11 }",
     "f32 f64", "B=1 N=1; B=3 N=6; B=1 N=40"},
    {"control",
     "(%x: T[N]) { %1 = loop(true:bool, %x, carried=1, limit=5) (%i: i64[], %a: T[N]) { %2 = mul(%a, 0.5) %3 "
     "= add(%2, "
     "%a) return true:bool, %3 } return %1 }",
     "f32 f64", "N=1; N=300"},
    {"data-dependent sizes",
     "(%x: T[N,M]) { %1 = greater(%x, 0.0) %2 = nonzero(%1, count=?0) %3 = mul(%2, 2) return %3 }", "f32",
     "N=5 M=7; N=40 M=33"},
    {"models",
     "(%x: T[N,3,H,H]) { @a.weight : T[16,3,3,3] @n.mean : T[16] @n.var : T[16] @n.weight : T[16] @n.bias : "
     "T[16] "
     "@b.weight : T[16,16,3,3] @f.weight : T[10,16] @f.bias : T[10] %1 = conv(%x, @a.weight, pad=1) "
     "%2 = batch_norm(%1, @n.mean, @n.var, @n.weight, @n.bias) %3 = relu(%2) %4 = max_pool(%3, kernel=3, "
     "stride=2, "
     "pad=1) %5 = conv(%4, @b.weight, pad=1) %6 = add(%5, %4) %7 = relu(%6) %8 = adaptive_avg_pool(%7, "
     "output=[1,1]) "
     "%9 = reshape(%8, shape=[N,16]) %10 = linear(%9, @f.weight, @f.bias) return %10 }",
     gpu_floats, "N=1 H=8; N=3 H=21"},
};

}  // namespace

std::span<const SelfTestRow> self_test_rows() { return rows; }

}  // namespace tenon
