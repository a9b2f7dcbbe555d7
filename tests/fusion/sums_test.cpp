// Sums of rows by index take the gather and the weighting before them.
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(Sums, TwoLayersOfAGraphNetworkShareTheirWeights) {
  expect_fused(R"(graph gcn(%x: f32[5,6], %edges: i64[2,8], %e: f32[8]) {
  @a : f32[7,6]
  @b : f32[3,7]
  %1 = slice(%edges, end=1) : i64[1,8]
  %2 = reshape(%1, shape=8) : i64[8]
  %3 = remainder(%2, 5) : i64[8]
  %4 = slice(%edges, start=1, end=2) : i64[1,8]
  %5 = reshape(%4, shape=8) : i64[8]
  %6 = remainder(%5, 5) : i64[8]
  %7 = reshape(%e, shape=[8,1]) : f32[8,1]
  %8 = linear(%x, @a) : f32[5,7]
  %9 = index_select(%8, %3) : f32[8,7]
  %10 = mul(%9, %7) : f32[8,7]
  %11 = full(shape=[5,7]) : f32[5,7]
  %12 = index_add(%11, %6, %10) : f32[5,7]
  %13 = relu(%12) : f32[5,7]
  %14 = linear(%13, @b) : f32[5,3]
  %15 = index_select(%14, %3) : f32[8,3]
  %16 = mul(%7, %15) : f32[8,3]
  %17 = full(shape=[5,3]) : f32[5,3]
  %18 = index_add(%17, %6, %16) : f32[5,3]
  return %18
}
)",
               R"(graph gcn(%x: f32[5,6], %edges: i64[2,8], %e: f32[8]) {
  %1 = slice(%edges, end=1) : i64[1,8]
  %2 = reshape(%1, shape=8) : i64[8]
  %3 = remainder(%2, 5) : i64[8]
  %4 = slice(%edges, start=1, end=2) : i64[1,8]
  %5 = reshape(%4, shape=8) : i64[8]
  %6 = remainder(%5, 5) : i64[8]
  %7 = reshape(%e, shape=[8,1]) : f32[8,1]
  %8 = linear(%x, @a) : f32[5,7]
  %9 = fused index_select(%8, %3) { mul(_, %7); index_add(@full, %6, _) } : f32[5,7]
  %10 = relu(%9) : f32[5,7]
  %11 = linear(%10, @b) : f32[5,3]
  %12 = fused index_select(%11, %3) { mul(_, %7); index_add(@full.1, %6, _) } : f32[5,3]
  return %12
}
)");
}

TEST(Sums, WhatSomebodyElseReadsStaysOutside) {
  expect_fused(R"(graph g(%x: f32[N,6], %from: i64[2], %to: i64[2], %s: f32[N,6], %w: f32[2,1]) {
  %1 = index_select(%x, %from) : f32[2,6]
  %2 = mul(%1, %w) : f32[2,6]
  %3 = index_add(%s, %to, %2) : f32[N,6]
  return %3, %1
}
)",
               R"(graph g(%x: f32[N,6], %from: i64[2], %to: i64[2], %s: f32[N,6], %w: f32[2,1]) {
  %1 = index_select(%x, %from) : f32[2,6]
  %2 = fused { mul(%1, %w); index_add(%s, %to, _) } : f32[N,6]
  return %2, %1
}
)");
}

TEST(Sums, WeightsOfColumnsAreNoWeightsOfRows) {
  expect_fused(R"(graph g(%x: f32[N,6], %from: i64[2], %to: i64[2], %s: f32[N,6], %w: f32[6]) {
  %1 = index_select(%x, %from) : f32[2,6]
  %2 = mul(%1, %w) : f32[2,6]
  %3 = index_add(%s, %to, %2) : f32[N,6]
  return %3
}
)",
               R"(graph g(%x: f32[N,6], %from: i64[2], %to: i64[2], %s: f32[N,6], %w: f32[6]) {
  %1 = fused index_select(%x, %from) { mul(_, %w) } : f32[2,6]
  %2 = index_add(%s, %to, %1) : f32[N,6]
  return %2
}
)");
}

TEST(Sums, EveryWayToNameRowsIsTaken) {
  expect_fused(R"(graph g(%x: f32[N,2,3], %from: i64[4], %to: i64[4], %s: f32[2,2,3], %w: f32[4,1,1]) {
  %1 = index(%x, %from, axes=0) : f32[4,2,3]
  %2 = mul(%w, %1) : f32[4,2,3]
  %3 = reshape(%to, shape=[4,1,1]) : i64[4,1,1]
  %4 = expand(%3, shape=[4,2,3]) : i64[4,2,3]
  %5 = scatter(%s, %4, %2, reduce="sum") : f32[2,2,3]
  return %5
}
)",
               R"(graph g(%x: f32[N,2,3], %from: i64[4], %to: i64[4], %s: f32[2,2,3], %w: f32[4,1,1]) {
  %1 = fused index(%x, %from, axes=0) { mul(_, %w); index_add(%s, %to, _) } : f32[2,2,3]
  return %1
}
)");
}

// Attention: a weight for each edge and head, as a view; the heads are split before the gather or behind it.
TEST(Sums, AWeightForEachHeadIsTaken) {
  expect_fused(R"(graph g(%x: f32[N,4,8], %from: i32[E], %to: i64[E], %a: f32[E,4], %s: f32[N,4,8]) {
  %1 = index_select(%x, %from) : f32[E,4,8]
  %2 = reshape(%a, shape=[E,4,1]) : f32[E,4,1]
  %3 = mul(%2, %1) : f32[E,4,8]
  %4 = index_add(%s, %to, %3) : f32[N,4,8]
  return %4
}
)",
               R"(graph g(%x: f32[N,4,8], %from: i32[E], %to: i64[E], %a: f32[E,4], %s: f32[N,4,8]) {
  %1 = reshape(%a, shape=[E,4,1]) : f32[E,4,1]
  %2 = fused index_select(%x, %from) { mul(_, %1); index_add(%s, %to, _) } : f32[N,4,8]
  return %2
}
)");
  expect_fused(R"(graph g(%x: f32[N,32], %from: i64[E], %to: i64[E], %a: f32[E,4,1], %s: f32[N,32]) {
  %1 = index_select(%x, %from) : f32[E,32]
  %2 = reshape(%1, shape=[E,4,8]) : f32[E,4,8]
  %3 = mul(%2, %a) : f32[E,4,8]
  %4 = reshape(%3, shape=[E,32]) : f32[E,32]
  %5 = index_add(%s, %to, %4) : f32[N,32]
  return %5
}
)",
               R"(graph g(%x: f32[N,32], %from: i64[E], %to: i64[E], %a: f32[E,4,1], %s: f32[N,32]) {
  %1 = fused index_select(%x, %from) { reshape(_, shape=[E,4,8]); mul(_, %a); reshape(_, shape=[E,32]); index_add(%s, %to, _) } : f32[N,32]
  return %1
}
)");
}

TEST(Sums, AWeightForEachElementIsTakenWithAGather) {
  expect_fused(R"(graph g(%x: f32[N,8], %from: i64[E], %to: i64[E], %e: f32[E,8], %s: f32[N,8]) {
  %1 = sigmoid(%e) : f32[E,8]
  %2 = index_select(%x, %from) : f32[E,8]
  %3 = mul(%1, %2) : f32[E,8]
  %4 = index_add(%s, %to, %3) : f32[N,8]
  return %4, %1
}
)",
               R"(graph g(%x: f32[N,8], %from: i64[E], %to: i64[E], %e: f32[E,8], %s: f32[N,8]) {
  %1 = sigmoid(%e) : f32[E,8]
  %2 = fused index_select(%x, %from) { mul(%1, _); index_add(%s, %to, _) } : f32[N,8]
  return %2, %1
}
)");
  expect_fused(R"(graph g(%x: f32[E,8], %to: i64[E], %e: f32[E,8], %s: f32[N,8]) {
  %1 = sigmoid(%e) : f32[E,8]
  %2 = mul(%1, %x) : f32[E,8]
  %3 = index_add(%s, %to, %2) : f32[N,8]
  return %3
}
)",
               R"(graph g(%x: f32[E,8], %to: i64[E], %e: f32[E,8], %s: f32[N,8]) {
  %1 = fused { sigmoid(%e); mul(_, %x) } : f32[E,8]
  %2 = index_add(%s, %to, %1) : f32[N,8]
  return %2
}
)");
}

// The weights of a head's features alone are not those of an edge's heads.
TEST(Sums, WeightsOfAMiddleAxisOnlyAreNoWeightsOfRows) {
  expect_fused(R"(graph g(%x: f32[N,4,8], %from: i64[E], %to: i64[E], %w: f32[E,1,8], %s: f32[N,4,8]) {
  %1 = index_select(%x, %from) : f32[E,4,8]
  %2 = mul(%1, %w) : f32[E,4,8]
  %3 = index_add(%s, %to, %2) : f32[N,4,8]
  return %3
}
)",
               R"(graph g(%x: f32[N,4,8], %from: i64[E], %to: i64[E], %w: f32[E,1,8], %s: f32[N,4,8]) {
  %1 = fused index_select(%x, %from) { mul(_, %w) } : f32[E,4,8]
  %2 = index_add(%s, %to, %1) : f32[N,4,8]
  return %2
}
)");
}

}  // namespace
}  // namespace tenon::testing
