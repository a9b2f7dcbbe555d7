// A NaN or an infinity reaches the outputs that read it and no others, in every kernel.
#include <limits>

#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// The graph on inputs of which one holds `value` at `place` (a share of its elements) equals the reference.
void expect_reaches_its_readers_only(const std::string& text, double value, double place) {
  SCOPED_TRACE(fmt::format("{} at {} of\n{}", value, place, text));
  const auto graph = graph_of(text);
  auto inputs = inputs_of(*graph, {});
  const auto element = static_cast<std::int64_t>(place * static_cast<double>(inputs[0].numel() - 1));
  inputs[0].mutable_data<float>()[element] = static_cast<float>(value);
  const auto expected = evaluate(*graph, inputs);
  for (const int threads : {1, 2}) {
    const auto got = Session(graph, {.threads = threads}).run(inputs);
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], 1e-4);
  }
}

void expect_reaches_its_readers_only(const std::string& text) {
  for (const double value : {not_a_number, infinity, -infinity})
    for (const double place : {0.0, 0.37, 1.0}) expect_reaches_its_readers_only(text, value, place);
}

struct Sizes {
  int in, out, groups, kernel, stride = 1, dilation = 1, pad = 0, size = 9;
  bool transposed = false;
};

std::string conv_text(const Sizes& c) {
  const int reach = (c.kernel - 1) * c.dilation + 1;
  const int out = c.transposed ? (c.size - 1) * c.stride + reach - 2 * c.pad
                               : (c.size + 2 * c.pad - reach) / c.stride + 1;
  const std::string type = fmt::format("f32[2,{},{},{}]", c.out, out, out);
  const std::string weight = c.transposed ? fmt::format("{},{}", c.in, c.out / c.groups)
                                          : fmt::format("{},{}", c.out, c.in / c.groups);
  const std::string call =
      fmt::format("conv{}(%x, @w, @b, stride={}, pad={}, dilation={}, groups={})",
                  c.transposed ? "_transpose" : "", c.stride, c.pad, c.dilation, c.groups);
  return fmt::format(R"(graph g(%x: f32[2,{0},{1},{1}], %r: {2}) {{
  @w : f32[{3},{4},{4}]
  @b : f32[{5}]
  %1 = {6} : {2}
  %2 = fused {6} {{ add(_, %r); relu }} : {2}
  %3 = fused {6} {{ sigmoid; add(_, %r) }} : {2}
  return %1, %2, %3
}}
)",
                     c.in, c.size, type, weight, c.kernel, c.out, call);
}

TEST(NotFinite, StaysInItsGroup) {
  for (const int groups : {2, 4, 8})
    for (const int channels : {8, 16, 48})
      for (const int kernel : {1, 3})
        for (const int stride : {1, 2})
          for (const int dilation : {1, 2})
            expect_reaches_its_readers_only(conv_text({.in = channels,
                                                       .out = channels,
                                                       .groups = groups,
                                                       .kernel = kernel,
                                                       .stride = stride,
                                                       .dilation = dilation,
                                                       .pad = kernel / 2,
                                                       .size = 7}),
                                            kernel == 1 ? infinity : not_a_number, 0.4);
  expect_reaches_its_readers_only(conv_text({.in = 8, .out = 24, .groups = 4, .kernel = 3, .pad = 1}));
  expect_reaches_its_readers_only(conv_text({.in = 12, .out = 6, .groups = 3, .kernel = 2}));
}

TEST(NotFinite, StaysInItsChannel) {
  for (const int stride : {1, 2})
    expect_reaches_its_readers_only(
        conv_text({.in = 20, .out = 20, .groups = 20, .kernel = 3, .stride = stride, .pad = 1}));
}

TEST(NotFinite, ReachesNoMorePixelsThanTheKernelCovers) {
  for (const int channels : {16, 20, 40})
    for (const int size : {4, 12, 14})
      expect_reaches_its_readers_only(
          conv_text({.in = channels, .out = channels, .groups = 1, .kernel = 3, .pad = 1, .size = size}));
  expect_reaches_its_readers_only(
      conv_text({.in = 5, .out = 7, .groups = 1, .kernel = 3, .stride = 2, .pad = 1}));
}

TEST(NotFinite, OfTransposedConvolutions) {
  for (const int groups : {1, 2, 4})
    for (const int stride : {1, 2, 3})
      expect_reaches_its_readers_only(conv_text({.in = 8,
                                                 .out = 8,
                                                 .groups = groups,
                                                 .kernel = 3,
                                                 .stride = stride,
                                                 .pad = 1,
                                                 .size = 5,
                                                 .transposed = true}));
}

TEST(NotFinite, OfGroupsIn1DAnd3D) {
  expect_reaches_its_readers_only(R"(graph g(%x: f32[2,8,9], %y: f32[1,8,4,5,6]) {
  @w : f32[8,4,3]
  @v : f32[8,2,3,3,3]
  %1 = conv(%x, @w, pad=1, groups=2) : f32[2,8,9]
  return %1
}
)");
  expect_reaches_its_readers_only(R"(graph g(%y: f32[1,8,4,5,6]) {
  @v : f32[8,2,3,3,3]
  %1 = conv(%y, @v, pad=1, groups=4) : f32[1,8,4,5,6]
  return %1
}
)");
}

TEST(NotFinite, OfProductsPoolsAndAttention) {
  for (const int size : {3, 17, 33}) {
    expect_reaches_its_readers_only(fmt::format(R"(graph g(%x: f32[5,{0}], %y: f32[{0},{0}]) {{
  @w : f32[{0},{0}]
  %1 = linear(%x, @w) : f32[5,{0}]
  %2 = matmul(%x, %y) : f32[5,{0}]
  %3 = matmul(%y, @w) : f32[{0},{0}]
  return %1, %2, %3
}}
)",
                                                size));
    expect_reaches_its_readers_only(fmt::format(R"(graph g(%x: f32[1,{0},6,6]) {{
  %1 = max_pool(%x, kernel=3, stride=2, pad=1) : f32[1,{0},3,3]
  %2 = avg_pool(%x, kernel=3, stride=2, pad=1) : f32[1,{0},3,3]
  return %1, %2
}}
)",
                                                size));
    expect_reaches_its_readers_only(
        fmt::format(R"(graph g(%q: f32[1,2,{0},8], %k: f32[1,2,{0},8], %v: f32[1,2,{0},8]) {{
  %1 = attention(%q, %k, %v) : f32[1,2,{0},8]
  %2 = attention(%k, %q, %v) : f32[1,2,{0},8]
  %3 = attention(%k, %v, %q) : f32[1,2,{0},8]
  return %1, %2, %3
}}
)",
                    size));
  }
}

}  // namespace
}  // namespace tenon::testing
