// Every spelling of an operator becomes the operator.
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(Raise, GeluInEveryBracketing) {
  expect_same({R"(graph g(%x: f32[N,4]) {
  %1 = gelu(%x) : f32[N,4]
  return %1
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = mul(%x, 0.5) : f32[N,4]
  %2 = div(%x, 1.4142135623730951) : f32[N,4]
  %3 = erf(%2) : f32[N,4]
  %4 = add(%3, 1.0) : f32[N,4]
  %5 = mul(%1, %4) : f32[N,4]
  return %5
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = mul(%x, 0.7071067811865476) : f32[N,4]
  %2 = erf(%1) : f32[N,4]
  %3 = add(1.0, %2) : f32[N,4]
  %4 = mul(%x, %3) : f32[N,4]
  %5 = mul(%4, 0.5) : f32[N,4]
  return %5
}
)"});
}

TEST(Raise, SoftmaxAndLayerNorm) {
  expect_same({R"(graph g(%x: f32[N,6]) {
  %1 = softmax(%x, axis=1) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = amax(%x, axes=1, keepdim=true) : f32[N,1]
  %2 = sub(%x, %1) : f32[N,6]
  %3 = exp(%2) : f32[N,6]
  %4 = sum(%3, axes=1, keepdim=true) : f32[N,1]
  %5 = div(%3, %4) : f32[N,6]
  return %5
}
)"});
  expect_same({R"(graph g(%x: f32[N,6]) {
  %1 = layer_norm(%x, eps=1e-06) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = mean(%x, axes=1, keepdim=true) : f32[N,1]
  %2 = sub(%x, %1) : f32[N,6]
  %3 = pow(%2, 2.0) : f32[N,6]
  %4 = mean(%3, axes=1, keepdim=true) : f32[N,1]
  %5 = add(%4, 1e-06) : f32[N,1]
  %6 = sqrt(%5) : f32[N,1]
  %7 = div(%2, %6) : f32[N,6]
  return %7
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = mean(%x, axes=1, keepdim=true) : f32[N,1]
  %2 = sub(%x, %1) : f32[N,6]
  %3 = mul(%2, %2) : f32[N,6]
  %4 = mean(%3, axes=1, keepdim=true) : f32[N,1]
  %5 = add(1e-06, %4) : f32[N,1]
  %6 = rsqrt(%5) : f32[N,1]
  %7 = mul(%6, %2) : f32[N,6]
  return %7
}
)"});
}

TEST(Raise, AttentionWithScaleAndMask) {
  expect_fused(R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,1,7]) {
  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,4,7]
  %2 = matmul(%q, %1) : f32[2,3,5,7]
  %3 = div(%2, 2.0) : f32[2,3,5,7]
  %4 = add(%3, %mask) : f32[2,3,5,7]
  %5 = softmax(%4, axis=3) : f32[2,3,5,7]
  %6 = matmul(%5, %v) : f32[2,3,5,4]
  return %6
}
)",
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,1,7]) {
  %1 = attention(%q, %k, %v, %mask, scale=0.5, nan_rows=true) : f32[2,3,5,4]
  return %1
}
)");
}

TEST(Raise, AttentionWithFilledScores) {
  expect_fused(R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %m: bool[5,7]) {
  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,4,7]
  %2 = matmul(%q, %1) : f32[2,3,5,7]
  %3 = mul(%2, 0.5) : f32[2,3,5,7]
  %4 = where(%m, %3, -inf:f32) : f32[2,3,5,7]
  %5 = softmax(%4, axis=3) : f32[2,3,5,7]
  %6 = matmul(%5, %v) : f32[2,3,5,4]
  return %6
}
)",
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %m: bool[5,7]) {
  %1 = attention(%q, %k, %v, %m, scale=0.5, nan_rows=true) : f32[2,3,5,4]
  return %1
}
)");
  expect_refused(R"(graph g(%q: f32[2,5,4], %k: f32[2,4,7], %v: f32[2,7,4], %m: bool[5,7]) {
  %1 = matmul(%q, %k) : f32[2,5,7]
  %2 = where(%m, -10000.0:f32, %1) : f32[2,5,7]
  %3 = softmax(%2, axis=2) : f32[2,5,7]
  %4 = matmul(%3, %v) : f32[2,5,4]
  return %4
}
)",
                 "attention", "minus infinity");
}

TEST(Raise, DeclinesWhatIsNotTheOperator) {
  expect_refused(R"(graph g(%x: f32[N,6]) {
  %1 = mul(%x, %x) : f32[N,6]
  %2 = mean(%1, axes=1, keepdim=true) : f32[N,1]
  %3 = add(%2, -1.0) : f32[N,1]
  %4 = rsqrt(%3) : f32[N,1]
  %5 = mul(%x, %4) : f32[N,6]
  return %5
}
)",
                 "rms_norm", "eps must be positive");
}

}  // namespace
}  // namespace tenon::testing
