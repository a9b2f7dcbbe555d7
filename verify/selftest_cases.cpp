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
    {"functions",
     "(%x: T[N]) { %1 = cos(%x) %2 = tan(%x) %3 = atan(%x) %4 = sinh(%x) %5 = cosh(%x) %6 = asinh(%x) "
     "%7 = erfc(%x) %8 = sinc(%x) %9 = exp2(%x) %10 = expm1(%x) "
     "return %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 }",
     floats, "N=300"},
    {"functions",
     "(%x: T[N]) { %1 = tanh(%x) %2 = mul(%1, 0.9) %3 = asin(%2) %4 = acos(%2) %5 = atanh(%2) "
     "%6 = erfinv(%2) %7 = abs(%x) %8 = add(%7, 1.1) %9 = acosh(%8) %10 = log2(%8) %11 = log10(%8) "
     "%12 = log1p(%8) %13 = rsqrt(%8) %14 = reciprocal(%8) %15 = lgamma(%8) %16 = digamma(%8) "
     "return %3, %4, %5, %6, %9, %10, %11, %12, %13, %14, %15, %16 }",
     floats, "N=300"},
    {"functions",
     "(%x: T[N], %y: T[N]) { %1 = abs(%y) %2 = add(%1, 0.5) %3 = fmod(%x, %2) %4 = remainder(%x, %2) "
     "%5 = floor_div(%x, %2) %6 = trunc_div(%x, %2) %7 = div(%x, %2) %8 = sub(%x, %y) %9 = atan2(%x, %y) "
     "%10 = hypot(%x, %y) %11 = copysign(%x, %y) %12 = nextafter(%x, %y) %13 = ldexp(%x, %y) "
     "%14 = fmin(%x, %y) %15 = fmax(%x, %y) "
     "return %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 }",
     "f32 f64", "N=300"},
    {"functions",
     "(%x: T[N]) { %1 = mul(%x, 3.0) %2 = floor(%1) %3 = ceil(%1) %4 = trunc(%1) %5 = round(%1) "
     "%6 = sign(%x) %7 = neg(%x) %8 = mul(%x, 1000.0) %9 = exp(%8) %10 = log(%x) %11 = isnan(%10) "
     "%12 = isinf(%9) %13 = isfinite(%10) %14 = signbit(%x) "
     "return %2, %3, %4, %5, %6, %7, %11, %12, %13, %14 }",
     "f32 f64", "N=300"},
    {"activations",
     "(%x: T[N], %y: T[N]) { %1 = relu(%x) %2 = leaky_relu(%x, slope=0.1) %3 = elu(%x) %4 = selu(%x) "
     "%5 = celu(%x) %6 = mish(%x) %7 = softplus(%x) %8 = hardsigmoid(%x) %9 = hardswish(%x) "
     "%10 = prelu(%x, %y) return %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 }",
     floats, "N=300"},
    {"activations",
     "(%x: T[N]) { %1 = hardshrink(%x) %2 = softshrink(%x) %3 = tanhshrink(%x) %4 = log_sigmoid(%x) "
     "%5 = softsign(%x) %6 = threshold(%x, threshold=0.3, value=2.0) %7 = clamp(%x, min=-0.7, max=1.1) "
     "%8 = sigmoid(%x) %9 = silu(%x) %10 = gelu(%x, approximate=\"tanh\") "
     "return %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 }",
     floats, "N=300"},
    {"conditions",
     "(%x: T[N], %y: T[N]) { %1 = less(%x, %y) %2 = less_equal(%x, %y) %3 = greater_equal(%x, %y) "
     "%4 = equal(%x, %y) %5 = not_equal(%x, %y) %6 = greater(%x, 0) %7 = logical_and(%1, %6) "
     "%8 = logical_or(%1, %6) %9 = logical_xor(%1, %6) %10 = logical_not(%1) "
     "return %1, %2, %3, %4, %5, %7, %8, %9, %10 }",
     "f32 f16 bf16 f64 i64 i32 u8", "N=300"},
    {"pointwise integers",
     "(%x: T[N], %y: T[N]) { %1 = add(%x, %y) %2 = mul(%1, 3) %3 = bit_and(%2, 2) %4 = maximum(%3, %y) "
     "return %2, %4 }",
     "i64 i32 i16 u8", "N=1; N=1000"},
    {"pointwise integers",
     "(%x: T[N], %y: T[N]) { %1 = bit_or(%x, %y) %2 = bit_xor(%x, %y) %3 = bit_not(%x) "
     "%4 = shift_left(%x, 2) %5 = shift_right(%x, 1) %6 = sign(%x) %7 = abs(%x) "
     "return %1, %2, %3, %4, %5, %6, %7 }",
     "i64 i32 i16 u8", "N=300"},
    {"pointwise integers",
     "(%x: T[N], %y: T[N]) { %1 = bit_and(%y, 63) %2 = add(%1, 1) %3 = floor_div(%x, %2) "
     "%4 = trunc_div(%x, %2) %5 = remainder(%x, %2) %6 = fmod(%x, %2) return %3, %4, %5, %6 }",
     "i64 i32 i16 u8", "N=300"},
    {"pointwise integers", "(%x: T[N]) { %1 = floor_div(%x, 7) %2 = remainder(%x, 5) return %1, %2 }",
     "i64 i32 i16 u8", "N=300"},
#define SPECIAL(name, arity, meaning) {"special functions", FUNCTION_##arity(#name), "f32 f64", "N=300"},
#include "base/specials.def"
    {"random numbers",
     "(%s: i64[]) { %1 = random_bits(%s, shape=[N,M], bits=24, stream=1, seed=7) "
     "%2 = random_bits(%s, shape=[M], bits=63, stream=2, seed=-7) return %1, %2 }",
     "i64", "N=1 M=1; N=5 M=401"},
    {"one hot", "(%x: T[N]) { %1 = remainder(%x, 7) %2 = one_hot(%1, classes=7) return %2 }", "i64 u8",
     "N=1; N=300"},
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
    {"casts",
     "(%x: T[N,M]) { %1 = bitcast(%x, to=i32) %2 = bit_xor(%1, 1) %3 = bitcast(%2, to=f32) "
     "%4 = bitcast(%x, to=i16) %5 = permute(%4, axes=[1,2,0]) return %1, %3, %5 }",
     "f32", "N=3 M=50"},
    {"copies", "(%x: T[N,M,K]) { %1 = permute(%x, axes=[2,0,1]) %2 = flip(%1, axes=1) return %1, %2 }",
     "f32 f16 f64 u8 i64", "N=1 M=1 K=1; N=3 M=17 K=5; N=8 M=64 K=33"},
    {"copies",
     "(%x: T[N,M], %y: T[N,K]) { %1 = concat(%x, %y, axis=1) %2 = pad(%1, pads=[0,1,2,0]) "
     "%3 = slice(%2, axis=1, start=1, end=M) %4 = full(shape=[N,2], value=3.0, dtype=T) "
     "return %1, %2, %3, %4 }",
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
    {"reductions",
     "(%x: T[N,M]) { %1 = prod(%x, axes=[1]) %2 = argmin(%x, axis=1) %3 = greater(%x, 0) "
     "%4 = all(%3, axes=[1]) %5 = any(%3, axes=[1]) return %1, %2, %4, %5 }",
     "f32 f64 i64", "N=5 M=1; N=70 M=7; N=3 M=33"},
    {"reductions", "(%x: T[N,M]) { %1 = logsumexp(%x, axes=[1]) %2 = variance(%x, axes=[0]) return %1, %2 }",
     floats, "N=5 M=3; N=70 M=1030"},
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
    {"gathers",
     "(%x: T[N,M,K], %a: i64[R], %b: i64[2,1]) { %1 = remainder(%a, N) %2 = remainder(%b, K) "
     "%3 = index(%x, %1, %2, axes=[0,2]) return %3 }",
     "f32 f16 i64", "N=1 M=3 K=1 R=2; N=7 M=33 K=5 R=40"},
    {"scatters",
     "(%x: T[N,M,K], %v: T[R,M,K], %u: T[R,K], %a: i64[R], %b: i64[R]) { %1 = remainder(%a, N) "
     "%2 = remainder(%b, M) %3 = index_put(%x, %v, %1, axes=[0]) "
     "%4 = index_put(%x, %u, %1, %2, axes=[0,1], accumulate=true) return %3, %4 }",
     "f32 f16 f64 i64", "N=3 M=1 K=2 R=1; N=6 M=5 K=33 R=9"},
    {"scatters",
     "(%x: T[N,M], %i: f32[K], %s: T[K,M]) { %1 = abs(%i) %2 = mul(%1, 31.0) %3 = cast(%2, to=i64) "
     "%4 = remainder(%3, N) %5 = index_add(%x, %4, %s) return %5 }",
     "f32 f64 i64", "N=1 M=1 K=5; N=11 M=33 K=200"},
    {"scatters",
     "(%x: T[N,M], %i: f32[N,K], %s: T[N,K]) { %1 = abs(%i) %2 = mul(%1, 31.0) %3 = cast(%2, to=i64) "
     "%4 = remainder(%3, M) %5 = scatter(%x, %4, %s, axis=1, reduce=\"sum\") return %5 }",
     "f32 f64 i64", "N=1 M=3 K=2; N=21 M=65 K=100"},
    {"scatters",  // of weighted edges
     "(%x: T[N,M], %w: T[K,1], %i: i64[K], %a: i64[K], %s: T[R,M]) { %1 = index_select(%x, %i) "
     "%2 = mul(%1, %w) %3 = remainder(%a, R) %4 = index_add(%s, %3, %2) return %4 }",
     "f32 f16 f64", "N=9 M=20 K=300 R=50"},
#define SCATTER(how)                                                                                      \
  {                                                                                                       \
    "scatters",                                                                                           \
        "(%x: T[N,M], %i: f32[N,K], %s: T[N,K]) { %1 = abs(%i) %2 = mul(%1, 31.0) %3 = cast(%2, to=i64) " \
        "%4 = remainder(%3, M) %5 = scatter(%x, %4, %s, axis=1, reduce=\"" how "\") return %5 }",         \
        "f32 f16 i32", "N=3 M=7 K=20"                                                                     \
  }
    SCATTER("none"),
    SCATTER("prod"),
    SCATTER("amax"),
    SCATTER("amin"),
    SCATTER("mean"),
    {"scatters",
     "(%x: T[N], %a: i64[K], %s: T[K]) { %1 = remainder(%a, N) %2 = scatter(%x, %1, %s, axis=0, "
     "reduce=\"sum\", include_self=false) return %2 }",
     "f32 f64", "N=3 K=5000"},
    {"scans", "(%x: T[N,M]) { %1 = cumsum(%x, axis=1) return %1 }", "f32 f64 i64",
     "N=1 M=1; N=3 M=70; N=2 M=3000"},
    {"scans",
     "(%x: T[N,M]) { %1, %2 = cummax(%x, axis=1) %3, %4 = cummin(%x, axis=0) return %1, %2, %3, %4 }",
     "f32 f16 f64 i64", "N=1 M=1; N=130 M=3; N=1 M=8300"},
    {"scans",
     "(%x: T[N,M]) { %1 = tanh(%x) %2 = mul(%1, 0.1) %3 = add(%2, 1.0) %4 = cumprod(%3, axis=1) "
     "%5 = logcumsumexp(%x, axis=1) return %4, %5 }",
     "f32 f64", "N=1 M=1; N=3 M=70; N=2 M=600"},
    {"scans", "(%x: T[N,M]) { %1 = cumsum(%x, axis=0) return %1 }", "f32 i64", "N=3 M=40; N=200 M=5"},
    {"sorts", "(%x: T[N,M]) { %1, %2 = sort(%x, axis=1) return %1, %2 }", "f32 f16 f64 i64",
     "N=1 M=1; N=3 M=70; N=2 M=3000; N=2 M=5000"},
    {"sorts", "(%x: T[N,M]) { %1, %2 = topk(%x, k=3, axis=1) return %1, %2 }", "f32 f64",
     "N=1 M=3; N=3 M=700; N=2 M=6000; N=1 M=20000"},
    {"sorts",
     "(%x: T[N,M], %y: T[N,K]) { %1, %2 = sort(%x, axis=1) %3 = search_sorted(%1, %y) "
     "%4 = search_sorted(%1, %y, right=true) return %3, %4 }",
     "f32 f16 i64", "N=1 M=1 K=3; N=3 M=40 K=300"},
    // In rows of more than 16 elements the CPU names another place than the reference.
    {"sorts", "(%x: T[N,M]) { %1 = remainder(%x, 5) %2, %3 = mode(%1, axis=1) return %2, %3 }", "i64 i32",
     "N=1 M=1; N=5 M=16"},
    {"sorts", "(%x: T[N,M]) { %1 = mul(%x, 2.0) %2 = round(%1) %3, %4 = mode(%2, axis=1) return %3 }",
     "f32 f16", "N=3 M=70; N=2 M=4500"},
    {"products", "(%x: T[N,64]) { @w : f8e4m3fn[24,64] %1 = cast(@w, to=f32) %2 = linear(%x, %1) return %2 }",
     "f32", "N=1; N=3; N=70"},
    {"products", "(%x: T[N,K], %y: T[K,M]) { %1 = matmul(%x, %y) return %1 }", floats,
     "N=1 K=1 M=1; N=1 K=300 M=70; N=1 K=300 M=72; N=4 K=70 M=520; N=3 K=5 M=7; N=65 K=33 M=129; N=128 K=64 "
     "M=128; N=5 K=2000 M=3"},
    {"products",
     "(%x: T[B,N,K], %y: T[B,M,K]) { %1 = permute(%y, axes=[0,2,1]) %2 = matmul(%x, %1) return %2 }",
     gpu_floats, "B=1 N=1 K=8 M=1; B=6 N=17 K=64 M=33; B=3 N=64 K=1 M=5"},
    {"products",
     "(%x: T[N,K], %z: T[N,M]) { @w : T[M,K] @b : T[M] %1 = linear(%x, @w, @b) %2 = gelu(%1) %3 = add(%2, "
     "%z) "
     "return %3 }",
     gpu_floats, "N=1 K=8 M=1; N=1 K=513 M=1000; N=7 K=96 M=32; N=130 K=40 M=66"},
    {"products",  // large ones
     "(%x: T[N,K], %y: T[M,K]) { %1 = permute(%y, axes=[1,0]) %2 = matmul(%x, %1) %3 = silu(%2) return %3 }",
     gpu_floats, "N=130 K=136 M=260; N=640 K=64 M=1536"},
    {"products",  // that compute their left side
     "(%x: T[N,H,K], %y: T[K]) { @w : T[M,K] %1 = add(%x, %y) %2 = relu(%1) %3 = linear(%2, @w) return %3 }",
     gpu_floats, "N=2 H=35 K=70 M=90"},
    {"products of bytes",
     "(%x: T[N,K], %y: i8[M,K]) { %1 = cast(%x, to=i32) %2 = sub(%1, 3) %3 = cast(%y, to=i32) "
     "%4 = permute(%3, axes=[1,0]) %5 = matmul(%2, %4) return %5 }",
     "i8 u8", "N=1 K=33 M=67; N=37 K=113 M=53; N=70 K=208 M=130"},
    {"products of bytes",
     "(%x: T[N,K]) { @w : u8[K,M] @z : u8[M] %1 = cast(%x, to=i32) %2 = cast(@w, to=i32) "
     "%3 = cast(@z, to=i32) %4 = sub(%2, %3) %5 = matmul(%1, %4) %6 = cast(%5, to=f32) %7 = mul(%6, 0.01) "
     "return %7 }",
     "i8 u8 i32", "N=1 K=160 M=200; N=9 K=160 M=200; N=70 K=208 M=130"},
    {"products of bytes", "(%x: T[N,16,H,W]) { @w : T[24,16,3,3] %1 = conv(%x, @w, pad=1) return %1 }", "i8",
     "N=2 H=9 W=8"},
    {"products by weights of 8 bits",
     "(%x: T[N,160]) { @w : i8[200,160] @s : T[200,1] %1 = cast(@w, to=T) %2 = mul(%1, @s) "
     "%3 = linear(%x, %2) return %3 }",
     gpu_floats, "N=1; N=3; N=70"},
    {"products by weights of 4 bits",
     "(%x: T[N,160]) { @w : u8[200,5,16] @s : T[200,5,1] @z : u8[200,5,1] %1 = bit_and(@w, 15) "
     "%2 = shift_right(@w, 4) %3 = reshape(%1, shape=[200,5,16,1]) %4 = reshape(%2, shape=[200,5,16,1]) "
     "%5 = concat(%3, %4, axis=3) %6 = reshape(%5, shape=[200,5,32]) %7 = cast(%6, to=T) "
     "%8 = bit_and(@z, 15) %9 = cast(%8, to=T) %10 = sub(%7, %9) %11 = mul(%10, @s) "
     "%12 = reshape(%11, shape=[200,160]) %13 = linear(%x, %12) return %13 }",
     gpu_floats, "N=1; N=3; N=70"},
    {"products of float8",  // whose units keep some 13 bits of a sum
     "(%x: f32[N,K], %y: f32[M,K]) { %1 = cast(%x, to=T) %2 = cast(%y, to=T) %3 = cast(%1, to=f32) "
     "%4 = cast(%2, to=f32) %5 = linear(%3, %4) %6 = cast(%5, to=f16) return %6 }",
     "f8e4m3fn f8e5m2 f8e4m3fnuz f8e5m2fnuz", "N=1 K=160 M=67; N=37 K=113 M=53; N=70 K=208 M=130"},
    {"products of float8",
     "(%x: f32[N,K], %y: f32[M,K]) { %1 = cast(%x, to=T) %2 = cast(%y, to=f8e5m2) %3 = cast(%1, to=f32) "
     "%4 = cast(%2, to=f32) %5 = linear(%3, %4) %6 = cast(%5, to=f16) return %6 }",
     "f8e4m3fn f8e4m3fnuz", "N=70 K=208 M=130"},
    {"convolutions",  // that compute their left side
     "(%x: T[N,C,H,W], %y: T[1,C,1,1]) { @w : T[K,C,3,3] %1 = add(%x, %y) %2 = sigmoid(%1) "
     "%3 = conv(%2, @w, stride=[2,1], pad=1) return %3 }",
     gpu_floats, "N=2 C=20 H=9 W=7 K=30"},
    {"convolutions",  // of groups of few channels
     "(%x: T[N,16,H,W]) { @w : T[32,4,3,3] @t : T[16,2,3,3] %1 = conv(%x, @w, pad=1, stride=2, groups=4) "
     "%2 = conv_transpose(%x, @t, stride=2, pad=1, groups=16) return %1, %2 }",
     gpu_floats, "N=2 H=6 W=7"},
    {"convolutions",  // patches
     "(%x: T[N,3,H,W]) { @w : T[K,3,8,8] %1 = conv(%x, @w, stride=8) return %1 }", gpu_floats,
     "N=2 H=32 W=35 K=24"},
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
     "(%x: T[N,12,H,W], %w: T[12,K,3,3]) { %1 = conv_transpose(%x, %w, groups=3, stride=2, pad=1) "
     "return %1 }",
     gpu_floats, "N=1 H=1 W=1 K=1; N=2 H=7 W=5 K=24"},
    {"convolutions",
     "(%x: T[N,C,W]) { @w : T[K,C,5] %1 = conv(%x, @w, pad=4, dilation=2) %2 = silu(%1) return %2 }",
     gpu_floats, "N=1 C=3 W=20 K=2; N=3 C=20 W=65 K=40"},
    {"pools", "(%x: T[N,C,H,W]) { %1 = max_pool(%x, kernel=3, stride=2, pad=1) return %1 }", gpu_floats,
     "N=1 C=1 H=3 W=3; N=2 C=17 H=12 W=15"},
    {"pools",
     "(%x: T[N,C,H,W]) { %1 = avg_pool(%x, kernel=2, stride=2) %2 = adaptive_avg_pool(%x, output=[3,1]) "
     "return %1, %2 }",
     gpu_floats, "N=1 C=1 H=3 W=3; N=2 C=17 H=12 W=15"},
    {"pools",
     "(%x: T[N,C,H,W]) { %1, %2 = max_pool_indices(%x, kernel=3, stride=2, pad=1) "
     "%3 = adaptive_max_pool(%x, output=[2,3]) %4, %5 = adaptive_max_pool_indices(%x, output=[3,2]) "
     "return %1, %2, %3, %4, %5 }",
     gpu_floats, "N=1 C=1 H=3 W=3; N=2 C=17 H=12 W=15"},
    {"resizing",
     "(%x: T[N,C,H,W]) { %1 = interpolate(%x, mode=\"linear\", output=[9,11]) "
     "%2 = interpolate(%x, mode=\"cubic\", output=[9,11]) %3 = interpolate(%x, mode=\"nearest\", "
     "output=[4,11]) return %1, %2, %3 }",
     gpu_floats, "N=1 C=1 H=1 W=2; N=2 C=3 H=7 W=5"},
    {"attention", "(%q: T[N,H,L,E], %k: T[N,H,S,E], %v: T[N,H,S,E]) { %1 = attention(%q, %k, %v) return %1 }",
     gpu_floats,
     "N=1 H=1 L=1 S=1 E=8; N=2 H=4 L=17 S=17 E=32; N=1 H=2 L=5 S=130 E=64; N=1 H=2 L=1 S=77 E=64; "
     "N=1 H=2 L=1 S=1030 E=64; N=2 H=2 L=70 S=130 E=64; N=1 H=2 L=256 S=192 E=64"},
    {"attention",  // by warpgroups on Hopper, of rows of 49 to 64 elements and as many queries
     "(%q: T[N,H,L,E], %k: T[N,H,S,E], %v: T[N,H,S,F], %m: T[1,1,L,S]) { %1 = attention(%q, %k, %v, %m) "
     "%2 = attention(%q, %k, %v, causal=true) return %1, %2 }",
     gpu_floats,
     "N=2 H=2 L=70 S=130 E=64 F=50; N=1 H=3 L=150 S=150 E=49 F=64; N=1 H=2 L=20 S=40 E=128 F=128"},
    {"attention",
     "(%q: T[N,H,L,E], %k: T[N,H,L,E], %v: T[N,H,L,E], %m: bool[N,1,1,L]) { %1 = attention(%q, %k, %v, %m) "
     "%2 = attention(%q, %k, %v, causal=true) return %1, %2 }",
     gpu_floats, "N=1 H=1 L=2 E=4; N=2 H=3 L=70 E=32"},
    {"attention",
     "(%q: T[N,H,L,E], %k: T[N,H,S,E], %v: T[N,H,S,E], %m: bool[N,1,L,S], %s: T[H]) "
     "{ %1 = attention(%q, %k, %v, %m, %s, softcap=2.0) return %1 }",
     gpu_floats, "N=1 H=2 L=1 S=77 E=64; N=1 H=2 L=1 S=1030 E=64; N=2 H=3 L=70 S=130 E=64"},
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
    {"linear algebra", "(%x: T[B,N,N]) { %1 = mul(%x, 0.1) %2 = matrix_exp(%1) return %2 }", "f16 bf16",
     "B=1 N=1; B=1 N=5; B=3 N=6; B=1 N=24"},
    {"operators of users",
     "(%x: f32[N]) { %1 = mul(%x, 2.0) %2, %3 = custom(%1, call=[\"selftest::windows\",K,0.5], "
     "signature=\"(x: f32[places], size: int, scale: float) -> f32[places-size+1,size], "
     "i64[places-size+1]\", "
     "library=\"the self-test\") return %2, %3 }",
     "f32", "N=3 K=3; N=300 K=7"},
    // Well-conditioned, with pivots of two rows.
    {"linear algebra",
     "(%x: T[B,N,N], %y: T[B,N,K]) { %1 = permute(%x, axes=[0,2,1]) %2 = add(%x, %1) %3 = mul(%2, 0.1) "
     "%4 = iota(size=N) %5 = reshape(%4, shape=[N,1]) %6 = add(%4, %5) %7 = equal(%6, M) %8 = cast(%7, to=T) "
     "%9 = mul(%8, 4.0) %10 = add(%3, %9) %11, %12 = ldl_factor(%10) %13 = ldl_solve(%11, %12, %y) "
     "return %11, %12, %13 }",
     "f32 f64", "B=1 N=1 M=0 K=1; B=3 N=6 M=5 K=2; B=2 N=33 M=32 K=40"},
    {"linear algebra",
     "(%x: T[B,N,M]) { %1, %2 = reflections(%x) %3 = reflection_product(%1, %2) "
     "%4 = reflection_product(%1, %2, complete=true) %5, %6 = lu(%x) %7 = pivot_rows(%6, rows=N) "
     "return %1, %2, %3, %4, %7 }",
     "f32 f64", "B=1 N=1 M=1; B=2 N=20 M=7; B=1 N=90 M=40"},
    {"control",
     "(%x: T[N]) { %1 = sum(%x, axes=[0]) %2 = greater(%1, 0.0) %3 = logical_not(%2) "
     "%4 = if(%2, %x) (%a: T[N]) { %b = mul(%a, 2.0) return %b } (%c: T[N]) { %d = exp(%c) return %d } "
     "%5 = if(%3, %x) (%e: T[N]) { %f = abs(%e) return %f } (%g: T[N]) { %h = tanh(%g) return %h } "
     "return %4, %5 }",
     "f32 f64", "N=1; N=300"},
    {"control",
     "(%x: T[N]) { %1 = sum(%x, axes=[0]) %2 = less(%1, 1000000.0) check(%2, message=\"too large\") "
     "%3 = exp(%x) return %3 }",
     "f32 f64", "N=1; N=300"},
    {"control",
     "(%x: T[N]) { %1 = loop(true:bool, %x, carried=1, limit=5) (%i: i64[], %a: T[N]) { %2 = mul(%a, 0.5) %3 "
     "= add(%2, "
     "%a) return true:bool, %3 } return %1 }",
     "f32 f64", "N=1; N=300"},
    {"data-dependent sizes",
     "(%x: T[N,M]) { %1 = greater(%x, 0.0) %2 = nonzero(%1, count=?0) %3 = mul(%2, 2) return %3 }", "f32",
     "N=5 M=7; N=40 M=33"},
    {"data-dependent sizes",
     "(%x: T[N,M]) { %1 = greater(%x, 0.5) %2, %3, %4 = unique(%1, count=?0) return %2, %3, %4 }", "f32",
     "N=5 M=1; N=70 M=3; N=40 M=33"},
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
