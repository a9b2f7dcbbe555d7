// What is computed alike of both parts of pairs is computed of the pairs.
#include <fmt/format.h>

#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

/// The parts of %x and %y, `body`, which computes %re and %im of this shape, and the pairs of these.
std::string parts(const std::string& body, const std::string& shape = "N,4") {
  return fmt::format(
      R"(graph g(%x: f32[N,4,2], %y: f32[4,2], %i: i64[3], %j: i64[3], %s: f32[N,4], %k: i64[4], %l: i64[N,4]) {{
  %a = slice(%x, axis=2, end=1) : f32[N,4,1]
  %xr = reshape(%a, shape=[N,4]) : f32[N,4]
  %b = slice(%x, axis=2, start=1, end=2) : f32[N,4,1]
  %xi = reshape(%b, shape=[N,4]) : f32[N,4]
  %c = slice(%y, axis=1, end=1) : f32[4,1]
  %yr = reshape(%c, shape=[4]) : f32[4]
  %d = slice(%y, axis=1, start=1, end=2) : f32[4,1]
  %yi = reshape(%d, shape=[4]) : f32[4]
{0}  %p = reshape(%re, shape=[{1},1]) : f32[{1},1]
  %q = reshape(%im, shape=[{1},1]) : f32[{1},1]
  %r = concat(%p, %q, axis=2) : f32[{1},2]
  return %r
}}
)",
      body, shape);
}
std::string pairs(const std::string& body) {
  return fmt::format(
      "graph g(%x: f32[N,4,2], %y: f32[4,2], %i: i64[3], %j: i64[3], %s: f32[N,4], %k: i64[4], %l: i64[N,4]) "
      "{{\n{}  return %r\n}}\n",
      body);
}

TEST(PartsAlike, ArePairs) {
  expect_same({parts("  %re = add(%xr, %yr) : f32[N,4]\n  %im = add(%xi, %yi) : f32[N,4]\n"),
               pairs("  %r = add(%x, %y) : f32[N,4,2]\n")});
  expect_same({parts("  %re = mul(%xr, 2.5) : f32[N,4]\n  %im = mul(%xi, 2.5) : f32[N,4]\n"),
               pairs("  %r = mul(%x, 2.5) : f32[N,4,2]\n")});
  expect_same({parts("  %re = mul(%xr, %s) : f32[N,4]\n  %im = mul(%xi, %s) : f32[N,4]\n"),
               pairs("  %1 = reshape(%s, shape=[N,4,1]) : f32[N,4,1]\n  %r = mul(%x, %1) : f32[N,4,2]\n")});
  expect_same({parts(R"(  %e = neg(%xr) : f32[N,4]
  %f = neg(%xi) : f32[N,4]
  %re = sub(%e, %yr) : f32[N,4]
  %im = sub(%f, %yi) : f32[N,4]
)"),
               pairs("  %1 = neg(%x) : f32[N,4,2]\n  %r = sub(%1, %y) : f32[N,4,2]\n")});
}

TEST(PartsAlike, MoveAsPairs) {
  expect_same(
      {parts("  %re = pad(%xr, pads=[0,1,0,2]) : f32[N,7]\n  %im = pad(%xi, pads=[0,1,0,2]) : f32[N,7]\n",
             "N,7"),
       pairs("  %r = pad(%x, pads=[0,1,0,0,2,0]) : f32[N,7,2]\n")});
  expect_same(
      {parts("  %re = permute(%xr, axes=[1,0]) : f32[4,N]\n  %im = permute(%xi, axes=[1,0]) : f32[4,N]\n",
             "4,N"),
       pairs("  %r = permute(%x, axes=[1,0,2]) : f32[4,N,2]\n")});
  expect_same({parts("  %re = index_select(%xr, %i, axis=1) : f32[N,3]\n  %im = index_select(%xi, %i, "
                     "axis=1) : f32[N,3]\n",
                     "N,3"),
               pairs("  %r = index_select(%x, %i, axis=1) : f32[N,3,2]\n")});
}

TEST(PartsAlike, RunningSums) {
  expect_same({parts("  %re = cumsum(%xr, axis=0) : f32[N,4]\n  %im = cumsum(%xi, axis=0) : f32[N,4]\n"),
               pairs("  %r = cumsum(%x, axis=0) : f32[N,4,2]\n")});
}

TEST(PartsAlike, ByANumberEach) {
  expect_same(
      {parts("  %re = mul(%xr, 0.5) : f32[N,4]\n  %im = mul(%xi, 3.0) : f32[N,4]\n"),
       pairs("  %1 = reshape(0.5:f32, shape=[1]) : f32[1]\n  %2 = reshape(3.0:f32, shape=[1]) : f32[1]\n"
             "  %3 = concat(%1, %2, axis=0) : f32[2]\n  %r = mul(%x, %3) : f32[N,4,2]\n")});
  expect_same(
      {parts("  %re = expand(1.0:f32, shape=[N,4]) : f32[N,4]\n  %im = expand(0.0:f32, shape=[N,4]) : "
             "f32[N,4]\n"),
       pairs("  %1 = reshape(1.0:f32, shape=[1]) : f32[1]\n  %2 = reshape(0.0:f32, shape=[1]) : f32[1]\n"
             "  %3 = concat(%1, %2, axis=0) : f32[2]\n  %r = expand(%3, shape=[N,4,2]) : f32[N,4,2]\n")});
}

// As complex numbers, where the number is the real part of one.
TEST(PartsAlike, PaddedWithANumber) {
  expect_same({parts("  %re = pad(%xr, pads=[0,1,0,2], value=3.0) : f32[N,7]\n"
                     "  %im = pad(%xi, pads=[0,1,0,2]) : f32[N,7]\n",
                     "N,7"),
               pairs("  %1 = bitcast(%x, to=c64) : c64[N,4]\n"
                     "  %2 = pad(%1, pads=[0,1,0,2], value=3.0) : c64[N,7]\n"
                     "  %r = bitcast(%2, to=f32) : f32[N,7,2]\n")});
}

// As torch.view_as_real gives them.
TEST(PartsAlike, OfComplexNumbers) {
  expect_same({R"(graph g(%x: f32[N,4], %y: f32[N,4]) {
  %z = complex(%x, %y) : c64[N,4]
  %f = fft(%z, inverse=false) : c64[N,4]
  %a = real(%f) : f32[N,4]
  %b = imag(%f) : f32[N,4]
  %p = reshape(%a, shape=[N,4,1]) : f32[N,4,1]
  %q = reshape(%b, shape=[N,4,1]) : f32[N,4,1]
  %r = concat(%p, %q, axis=2) : f32[N,4,2]
  return %r
}
)",
               R"(graph g(%x: f32[N,4], %y: f32[N,4]) {
  %z = complex(%x, %y) : c64[N,4]
  %f = fft(%z, inverse=false) : c64[N,4]
  %r = bitcast(%f, to=f32) : f32[N,4,2]
  return %r
}
)"});
}

TEST(PartsAlike, WriteAsPairs) {
  expect_same({parts("  %re = index_put(%xr, %yr, %j, axes=0) : f32[N,4]\n"
                     "  %im = index_put(%xi, %yi, %j, axes=0) : f32[N,4]\n"),
               pairs("  %r = index_put(%x, %y, %j, axes=0) : f32[N,4,2]\n")});
  expect_same({parts("  %re = index(%xr, %i, axes=[1]) : f32[N,3]\n"
                     "  %im = index(%xi, %i, axes=[1]) : f32[N,3]\n",
                     "N,3"),
               pairs("  %r = index(%x, %i, axes=[1]) : f32[N,3,2]\n")});
  expect_same({parts("  %re = flip(%xr, axes=1) : f32[N,4]\n  %im = flip(%xi, axes=1) : f32[N,4]\n"),
               pairs("  %r = flip(%x, axes=1) : f32[N,4,2]\n")});
}

// A pair is a short row: where single elements move, complex numbers do.
TEST(PartsAlike, MoveAsNumbers) {
  expect_same({parts("  %re = index_put(%xr, %yr, %k, axes=1) : f32[N,4]\n"
                     "  %im = index_put(%xi, %yi, %k, axes=1) : f32[N,4]\n"),
               pairs("  %1 = bitcast(%x, to=c64) : c64[N,4]\n"
                     "  %2 = bitcast(%y, to=c64) : c64[4]\n"
                     "  %3 = index_put(%1, %2, %k, axes=1) : c64[N,4]\n"
                     "  %r = bitcast(%3, to=f32) : f32[N,4,2]\n")});
  expect_same({parts("  %re = scatter(%xr, %l, %xr, axis=1) : f32[N,4]\n"
                     "  %im = scatter(%xi, %l, %xi, axis=1) : f32[N,4]\n"),
               pairs("  %1 = bitcast(%x, to=c64) : c64[N,4]\n"
                     "  %2 = scatter(%1, %l, %1, axis=1) : c64[N,4]\n"
                     "  %r = bitcast(%2, to=f32) : f32[N,4,2]\n")});
  expect_same({parts("  %re = gather(%xr, %l, axis=0) : f32[N,4]\n"
                     "  %im = gather(%xi, %l, axis=0) : f32[N,4]\n"),
               pairs("  %1 = bitcast(%x, to=c64) : c64[N,4]\n"
                     "  %2 = gather(%1, %l, axis=0) : c64[N,4]\n"
                     "  %r = bitcast(%2, to=f32) : f32[N,4,2]\n")});
}

TEST(PartsAlike, ANumberIsPutAsAComplexOne) {
  const auto original =
      graph_with_data(parts("  %re = index_put(%xr, 2.5, %k, axes=1) : f32[N,4]\n"
                            "  %im = index_put(%xi, -1.5, %k, axes=1) : f32[N,4]\n"));
  const auto graph = clone(*original);
  fuse(*graph);
  EXPECT_EQ(body_text(*graph).find("concat("), std::string::npos) << body_text(*graph);
  expect_equal_results(*original, *graph);
}

// As those of a conjugate.
TEST(PartsAlike, OneOfThemIsNegated) {
  const char* bodies[] = {
      "  %re = mul(%xr, 1.0) : f32[N,4]\n  %im = neg(%xi) : f32[N,4]\n",
      "  %re = neg(%xr) : f32[N,4]\n  %im = mul(%xi, 1.0) : f32[N,4]\n",
      "  %e = neg(%xi) : f32[N,4]\n  %re = add(%xr, %yr) : f32[N,4]\n  %im = add(%e, %yi) : f32[N,4]\n"};
  for (const char* body : bodies) {
    const auto original = graph_with_data(parts(body));
    const auto graph = clone(*original);
    fuse(*graph);
    EXPECT_EQ(body_text(*graph).find("concat("), std::string::npos) << body_text(*graph);
    expect_equal_results(*original, *graph);
  }
}

void expect_no_pairs(const std::string& text) {
  const auto original = graph_with_data(text);
  const auto graph = clone(*original);
  fuse(*graph);
  EXPECT_NE(body_text(*graph).find("concat("), std::string::npos) << body_text(*graph);
  expect_equal_results(*original, *graph);
}

TEST(PartsAlike, OtherwiseStayParts) {
  const std::vector<std::string> bodies = {
      "  %re = neg(%xr) : f32[N,4]\n  %im = abs(%xi) : f32[N,4]\n",            // other functions
      "  %re = neg(%xi) : f32[N,4]\n  %im = neg(%xr) : f32[N,4]\n",            // of the other part
      "  %re = add(%xr, %yi) : f32[N,4]\n  %im = add(%xi, %yr) : f32[N,4]\n",  // some of the other part
      "  %re = softmax(%xr, axis=1) : f32[N,4]\n  %im = softmax(%xi, axis=1) : f32[N,4]\n",  // no movement
      "  %re = cumsum(%xr, axis=1) : f32[N,4]\n  %im = cumsum(%xi, axis=1) : f32[N,4]\n",    // short rows
  };
  for (const std::string& body : bodies) expect_no_pairs(parts(body));
}

TEST(PartsAlike, NumbersThatOneDoubleHoldsAreOthers) {
  expect_no_pairs(R"(graph g(%x: i64[N,2]) {
  %a = slice(%x, axis=1, end=1) : i64[N,1]
  %xr = reshape(%a, shape=[N]) : i64[N]
  %b = slice(%x, axis=1, start=1, end=2) : i64[N,1]
  %xi = reshape(%b, shape=[N]) : i64[N]
  %re = add(%xr, 1152921504606846976) : i64[N]
  %im = add(%xi, 1152921504606846977) : i64[N]
  %p = reshape(%re, shape=[N,1]) : i64[N,1]
  %q = reshape(%im, shape=[N,1]) : i64[N,1]
  %r = concat(%p, %q, axis=1) : i64[N,2]
  return %r
}
)");
}

TEST(PartsAlike, IndicesOfEachPartChooseApart) {
  expect_no_pairs(R"(graph g(%x: f32[N,4,2], %i: i64[3,2]) {
  %a = slice(%x, axis=2, end=1) : f32[N,4,1]
  %xr = reshape(%a, shape=[N,4]) : f32[N,4]
  %b = slice(%x, axis=2, start=1, end=2) : f32[N,4,1]
  %xi = reshape(%b, shape=[N,4]) : f32[N,4]
  %c = slice(%i, axis=1, end=1) : i64[3,1]
  %ir = reshape(%c, shape=[3]) : i64[3]
  %d = slice(%i, axis=1, start=1, end=2) : i64[3,1]
  %ii = reshape(%d, shape=[3]) : i64[3]
  %re = index_select(%xr, %ir, axis=1) : f32[N,3]
  %im = index_select(%xi, %ii, axis=1) : f32[N,3]
  %p = reshape(%re, shape=[N,3,1]) : f32[N,3,1]
  %q = reshape(%im, shape=[N,3,1]) : f32[N,3,1]
  %r = concat(%p, %q, axis=2) : f32[N,3,2]
  return %r
}
)");
}

}  // namespace
}  // namespace tenon::testing
