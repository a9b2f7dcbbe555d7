// Every spelling of attention becomes attention, of few heads of keys and plain masks.
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

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
  %1 = attention(%q, %k, %v, %mask, nan_rows=true) : f32[2,3,5,4]
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
  %1 = attention(%q, %k, %v, %m, nan_rows=true) : f32[2,3,5,4]
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

TEST(Raise, AttentionAsPyTorchWritesItToOnnx) {
  expect_same({R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = attention(%q, %k, %v, %m) : f32[2,3,5,16]
  return %1
}
)",
               R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = reshape(%k, shape=[6,7,16]) : f32[6,7,16]
  %2 = permute(%1, axes=[0,2,1]) : f32[6,16,7]
  %3 = reshape(%2, shape=[2,3,16,7]) : f32[2,3,16,7]
  %4 = mul(%q, 0.5) : f32[2,3,5,16]
  %5 = mul(%3, 0.5) : f32[2,3,16,7]
  %6 = matmul(%4, %5) : f32[2,3,5,7]
  %7 = where(%m, 0.0:f32, -inf:f32) : f32[2,1,5,7]
  %8 = add(%6, %7) : f32[2,3,5,7]
  %9 = softmax(%8, axis=3) : f32[2,3,5,7]
  %10 = isnan(%9) : bool[2,3,5,7]
  %11 = where(%10, 0.0:f32, %9) : f32[2,3,5,7]
  %12 = matmul(%11, %v) : f32[2,3,5,16]
  return %12
}
)",
               R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = attention(%q, %k, %v, %m, scale=0.25) : f32[2,3,5,16]
  return %1
}
)"});
}

TEST(Raise, AttentionOfGroupedQueries) {
  const std::string parameters =
      "graph g(%q: f32[2,6,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {\n";
  const std::string repeats = R"(  %1 = reshape(%k, shape=[2,3,1,7,16]) : f32[2,3,1,7,16]
  %2 = expand(%1, shape=[2,3,2,7,16]) : f32[2,3,2,7,16]
  %3 = reshape(%2, shape=[2,6,7,16]) : f32[2,6,7,16]
  %4 = reshape(%v, shape=[2,3,1,7,16]) : f32[2,3,1,7,16]
  %5 = expand(%4, shape=[2,3,2,7,16]) : f32[2,3,2,7,16]
  %6 = reshape(%5, shape=[2,6,7,16]) : f32[2,6,7,16]
)";
  expect_fused(parameters + repeats + R"(  %7 = attention(%q, %3, %6, %m, scale=0.5) : f32[2,6,5,16]
  return %7
}
)",
               parameters + R"(  %1 = attention(%q, %k, %v, %m, scale=0.5) : f32[2,6,5,16]
  return %1
}
)");
  expect_same({parameters + R"(  %1 = attention(%q, %k, %v) : f32[2,6,5,16]
  return %1
}
)",
               parameters + repeats + R"(  %7 = permute(%3, axes=[0,1,3,2]) : f32[2,6,16,7]
  %8 = matmul(%q, %7) : f32[2,6,5,7]
  %9 = mul(%8, 0.25) : f32[2,6,5,7]
  %10 = softmax(%9, axis=3) : f32[2,6,5,7]
  %11 = matmul(%10, %6) : f32[2,6,5,16]
  return %11
}
)"});
}

TEST(Raise, HeadsThatTileAreNotGrouped) {
  // The repetition comes before the heads: 0 1 2 0 1 2.
  const std::string tiled = R"(graph g(%q: f32[2,6,5,16], %k: f32[2,3,7,16]) {
  %1 = reshape(%k, shape=[2,1,3,7,16]) : f32[2,1,3,7,16]
  %2 = expand(%1, shape=[2,2,3,7,16]) : f32[2,2,3,7,16]
  %3 = reshape(%2, shape=[2,6,7,16]) : f32[2,6,7,16]
  %4 = attention(%q, %3, %3) : f32[2,6,5,16]
  return %4
}
)";
  expect_fused(tiled, tiled);
}

TEST(Raise, AMaskOfLowNumbersIsNoMaskOfSeenKeys) {
  // A row that sees nothing is the mean of all values here, and 0 there.
  expect_fused(R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = where(%m, 0.0:f32, -3.4028235e+38:f32) : f32[2,1,5,7]
  %2 = attention(%q, %k, %v, %1) : f32[2,3,5,16]
  return %2
}
)",
               R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = where(%m, 0.0:f32, -3.4028235e+38:f32) : f32[2,1,5,7]
  %2 = attention(%q, %k, %v, %1) : f32[2,3,5,16]
  return %2
}
)");
}

TEST(Raise, AttentionAsPyTorchDecomposesIt) {
  expect_same({R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,5,7]) {
  %1 = attention(%q, %k, %v, %mask) : f32[2,3,5,4]
  return %1
}
)",
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,5,7]) {
  %1 = mul(%q, 0.70710678118654757) : f32[2,3,5,4]
  %2 = permute(%k, axes=[0,1,3,2]) : f32[2,3,4,7]
  %3 = mul(%2, 0.70710678118654757) : f32[2,3,4,7]
  %4 = matmul(%1, %3) : f32[2,3,5,7]
  %5 = add(%4, %mask) : f32[2,3,5,7]
  %6 = softmax(%5, axis=3) : f32[2,3,5,7]
  %7 = equal(%5, -inf:f32) : bool[2,3,5,7]
  %8 = logical_not(%7) : bool[2,3,5,7]
  %9 = any(%8, axes=3, keepdim=true) : bool[2,3,5,1]
  %10 = logical_not(%9) : bool[2,3,5,1]
  %11 = full(shape=[2,3,5,7]) : f32[2,3,5,7]
  %12 = where(%10, %11, %6) : f32[2,3,5,7]
  %13 = matmul(%12, %v) : f32[2,3,5,4]
  return %13
}
)"});
}

TEST(Raise, AttentionOfCappedScores) {
  const std::string parameters =
      "graph g(%q: f32[2,3,5,4], %k: f32[2,3,4,7], %v: f32[2,3,7,4], %mask: f32[2,1,5,7]) {\n";
  const auto capped = [&](double cap) {
    return parameters + fmt::format(R"(  %1 = matmul(%q, %k) : f32[2,3,5,7]
  %2 = mul(%1, 0.25) : f32[2,3,5,7]
  %3 = div(%2, 50.0) : f32[2,3,5,7]
  %4 = tanh(%3) : f32[2,3,5,7]
  %5 = mul(%4, {:.1f}) : f32[2,3,5,7]
  %6 = add(%5, %mask) : f32[2,3,5,7]
  %7 = softmax(%6, axis=3) : f32[2,3,5,7]
  %8 = matmul(%7, %v) : f32[2,3,5,4]
  return %8
}}
)",
                                    cap);
  };
  const auto attention = [&](std::string_view scale) {
    return parameters + fmt::format(R"(  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,7,4]
  %2 = attention(%q, %1, %v, %mask, {}, nan_rows=true) : f32[2,3,5,4]
  return %2
}}
)",
                                    scale);
  };
  expect_fused(capped(50), attention("scale=0.25, softcap=50.0"));
  expect_fused(capped(100), attention("softcap=100.0"));
  expect_refused(capped(-50), "attention", "by a positive number");
}

TEST(Raise, AttentionBesideASink) {
  // With the maximum subtracted twice, as transformers write it.
  const auto beside = [](std::string_view column, std::string_view parameters, std::string_view mask) {
    return fmt::format(R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,4,7], %v: f32[2,3,7,4], {}) {{
  %1 = matmul(%q, %k) : f32[2,3,5,7]
  %2 = mul(%1, 0.5) : f32[2,3,5,7]
{}{}  %6 = concat(%3, %5, axis=3) : f32[2,3,5,8]
  %7 = amax(%6, axes=3, keepdim=true) : f32[2,3,5,1]
  %8 = sub(%6, %7) : f32[2,3,5,8]
  %9 = softmax(%8, axis=3) : f32[2,3,5,8]
  %10 = slice(%9, axis=3, end=7) : f32[2,3,5,7]
  %11 = matmul(%10, %v) : f32[2,3,5,4]
  return %11
}}
)",
                       parameters, mask, column);
  };
  const std::string of_heads = R"(  %4 = reshape(%s, shape=[1,3,1,1]) : f32[1,3,1,1]
  %5 = expand(%4, shape=[2,3,5,1]) : f32[2,3,5,1]
)",
                    added = "  %3 = add(%2, %m) : f32[2,3,5,7]\n";
  expect_fused(
      beside(of_heads, "%m: f32[1,1,5,7], %s: f32[3]", added),
      R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,4,7], %v: f32[2,3,7,4], %m: f32[1,1,5,7], %s: f32[3]) {
  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,7,4]
  %2 = attention(%q, %1, %v, %m, %s) : f32[2,3,5,4]
  return %2
}
)");
  expect_fused(beside(of_heads, "%s: f32[3]", "  %3 = add(%2, 0.0) : f32[2,3,5,7]\n"),
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,4,7], %v: f32[2,3,7,4], %s: f32[3]) {
  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,7,4]
  %2 = attention(%q, %1, %v, true:bool, %s) : f32[2,3,5,4]
  return %2
}
)");
  const std::string of_queries = R"(  %4 = reshape(%s, shape=[1,1,5,1]) : f32[1,1,5,1]
  %5 = expand(%4, shape=[2,3,5,1]) : f32[2,3,5,1]
)";
  expect_refused(beside(of_queries, "%m: f32[1,1,5,7], %s: f32[5]", added), "attention",
                 "no column of one score for each head");
}

TEST(Raise, RulesOfMasksKeepCapAndSink) {
  const std::string parameters =
      "graph g(%q: f32[2,6,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7], %s: f32[6]) {\n";
  expect_fused(parameters + R"(  %1 = reshape(%k, shape=[2,3,1,7,16]) : f32[2,3,1,7,16]
  %2 = expand(%1, shape=[2,3,2,7,16]) : f32[2,3,2,7,16]
  %3 = reshape(%2, shape=[2,6,7,16]) : f32[2,6,7,16]
  %4 = reshape(%v, shape=[2,3,1,7,16]) : f32[2,3,1,7,16]
  %5 = expand(%4, shape=[2,3,2,7,16]) : f32[2,3,2,7,16]
  %6 = reshape(%5, shape=[2,6,7,16]) : f32[2,6,7,16]
  %7 = where(%m, 0.0:f32, -inf:f32) : f32[2,1,5,7]
  %8 = attention(%q, %3, %6, %7, %s, scale=0.25, softcap=30.0) : f32[2,6,5,16]
  return %8
}
)",
               parameters + R"(  %1 = attention(%q, %k, %v, %m, %s, softcap=30.0) : f32[2,6,5,16]
  return %1
}
)");
}

}  // namespace
}  // namespace tenon::testing
