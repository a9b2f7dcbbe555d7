// Folds over nothing give what they begin with, and tensors without elements are no work.
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

void check(std::string_view text) {
  SCOPED_TRACE(text);
  const std::string whole = "graph g" + std::string(text);
  expect_same_on(whole, inputs_of(*graph_of(whole), {}));
}

TEST(Empty, ProductsWithoutDepth) {
  for (const std::string_view t : {"f32", "f16", "f64", "i64"}) {
    check(fmt::format("(%x: {0}[5,0], %y: {0}[0,7]) {{ %1 = matmul(%x, %y) return %1 }}", t));
    check(fmt::format("(%x: {0}[3,5,0], %y: {0}[3,0,7]) {{ %1 = matmul(%x, %y) return %1 }}", t));
    check(fmt::format("(%x: {0}[1,0], %y: {0}[0,70]) {{ %1 = matmul(%x, %y) return %1 }}", t));
  }
  // Only what depends on an input with elements is left to a kernel.
  for (const std::string_view t : {"f32", "f16", "f64"})
    for (const std::string_view rows : {"", "1,", "3,", "70,", "2,40,"}) {
      check(fmt::format("(%x: {0}[{1}0], %z: {0}[90]) {{ @w : {0}[90,0] %1 = linear(%x, @w, %z) return %1 }}",
                        t, rows));
      if (rows.empty()) continue;  // a row times weights that are no constants has no kernel
      check(
          fmt::format("(%x: {0}[{1}0], %w: {0}[90,0], %z: {0}[90]) {{ %1 = fused {{ linear(%x, %w, %z); "
                      "relu(_) }} : {0}[{1}90] return %1 }}",
                      t, rows));
    }
}

TEST(Empty, ProductsWithoutElements) {
  check("(%x: f32[0,5], %y: f32[5,7]) { %1 = matmul(%x, %y) return %1 }");
  check("(%x: f32[0,3,5], %y: f32[0,5,7]) { %1 = matmul(%x, %y) return %1 }");
  check("(%x: f32[0,3,8,8]) { @w : f32[4,3,3,3] %1 = conv(%x, @w) return %1 }");
}

TEST(Empty, FoldsOverNothing) {
  for (const std::string_view t : {"f32", "f16", "f64", "i64"})
    for (const std::string_view op : {"sum", "prod"}) {
      check(fmt::format("(%x: {0}[5,0]) {{ %1 = {1}(%x, axes=[1]) return %1 }}", t, op));
      check(fmt::format("(%x: {0}[0,5]) {{ %1 = {1}(%x, axes=[0]) return %1 }}", t, op));
      check(fmt::format("(%x: {0}[3,0,5]) {{ %1 = {1}(%x, axes=[0,1,2]) return %1 }}", t, op));
    }
  check("(%x: f32[5,0]) { %1 = mean(%x, axes=[1]) return %1 }");
  check("(%x: bool[5,0]) { %1 = any(%x, axes=[1]) %2 = all(%x, axes=[1]) return %1, %2 }");
  check("(%x: f32[2,0,3]) { %1 = sum(%x, axes=[1]) %2 = exp(%1) return %2 }");
}

TEST(Empty, RowsWithoutElements) {
  check("(%x: f32[5,0]) { %1 = softmax(%x, axis=1) return %1 }");
  check("(%x: f32[0,5]) { %1 = softmax(%x, axis=1) return %1 }");
  for (const std::string_view shape : {"5,0", "0,5"}) {
    check(fmt::format("(%x: f32[{}]) {{ %1 = cumsum(%x, axis=1) return %1 }}", shape));
    check(fmt::format("(%x: f32[{}]) {{ %1, %2 = sort(%x, axis=1) return %1, %2 }}", shape));
  }
  check("(%x: f32[0,5]) { %1, %2 = topk(%x, k=2, axis=1) return %1, %2 }");
  check("(%x: f32[0,5]) { %1 = special(%x, function=\"i0\") return %1 }");
  check("(%x: f32[0,5], %i: i64[0,2]) { %1 = gather(%x, %i, axis=1) return %1 }");
  check("(%x: f32[4,5], %i: i64[0], %y: f32[0,5]) { %1 = index_add(%x, %i, %y) return %1 }");
}

TEST(Empty, AttentionWithoutKeys) {
  check("(%q: f32[1,2,3,8], %k: f32[1,2,0,8], %v: f32[1,2,0,8]) { %1 = attention(%q, %k, %v) return %1 }");
  check("(%q: f32[1,2,0,8], %k: f32[1,2,3,8], %v: f32[1,2,3,8]) { %1 = attention(%q, %k, %v) return %1 }");
}

}  // namespace
}  // namespace tenon::testing
