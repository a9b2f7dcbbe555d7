// Resizing, and the places of maxima: every mode against the interpreter.
#include <fmt/ranges.h>

#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

void check_resize(const char* options, DType dtype, const Index& shape, const Index& output,
                  double tolerance = 2e-5) {
  Index result = shape;
  std::copy(output.begin(), output.end(), result.begin() + 2);
  expect_same_on(
      fmt::format("graph g(%x: {}) {{\n  %1 = interpolate(%x, output=[{}], {}) : {}\n  return %1\n}}\n",
                  type_string(dtype, shape), fmt::join(output, ","), options, type_string(dtype, result)),
      {random_tensor(dtype, shape, 1)}, tolerance);
}

TEST(Resize, EveryModeAndRank) {
  for (const char* corners : {"", ", align_corners=true"}) {
    const std::string linear = fmt::format("mode=\"linear\"{}", corners);
    check_resize(linear.c_str(), DType::f32, {2, 3, 7}, {12});
    check_resize(linear.c_str(), DType::f32, {2, 3, 7, 5}, {3, 11});
    check_resize(linear.c_str(), DType::f32, {2, 3, 4, 5, 6}, {5, 5, 3});
    check_resize(linear.c_str(), DType::f32, {1, 1, 1, 4}, {3, 1});
    const std::string cubic = fmt::format("mode=\"cubic\"{}", corners);
    check_resize(cubic.c_str(), DType::f32, {2, 3, 7, 5}, {3, 11});
    check_resize(cubic.c_str(), DType::f32, {2, 3, 2, 5}, {2, 9});
  }
  for (const char* mode : {"nearest", "nearest_exact"})
    check_resize(fmt::format("mode=\"{}\"", mode).c_str(), DType::f32, {2, 3, 7, 5}, {3, 11});
}

TEST(Resize, ScalesAndTypes) {
  check_resize("mode=\"linear\", scales=[2.0,1.7]", DType::f32, {1, 2, 5, 5}, {10, 8});
  check_resize("mode=\"cubic\", scales=[1.1,1.7]", DType::f32, {1, 2, 5, 5}, {5, 8});
  check_resize("mode=\"linear\"", DType::f64, {1, 2, 5, 5}, {10, 8}, 1e-12);
  check_resize("mode=\"linear\"", DType::f16, {1, 2, 5, 5}, {10, 8}, 2e-3);
  check_resize("mode=\"cubic\"", DType::bf16, {1, 2, 5, 5}, {10, 8}, 2e-2);
}

TEST(Resize, AntialiasedByEveryFilter) {
  for (const char* filter : {"linear", "cubic", "lanczos"})
    for (const char* options : {"", ", align_corners=true", ", scales=[0.4,1.7]"})
      for (const auto& [in, out] : {std::pair<Index, Index>{{37, 50}, {15, 17}},
                                    {{7, 5}, {13, 11}},
                                    {{1, 100}, {1, 3}},
                                    {{20, 1}, {1, 1}}})
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Index shape{2, 3, in[0], in[1]}, result{2, 3, out[0], out[1]};
          expect_same_on(
              fmt::format("graph g(%x: {}) {{\n"
                          "  %1 = interpolate_antialiased(%x, filter=\"{}\", output=[{},{}]{}) : {}\n"
                          "  return %1\n}}\n",
                          type_string(dtype, shape), filter, out[0], out[1], options,
                          type_string(dtype, result)),
              {random_tensor(dtype, shape, 1)});
        }
}

std::string sampling(std::string_view options, const Index& x, const Index& grid, const Index& y) {
  return fmt::format("graph g(%x: {}, %grid: {}) {{\n  %1 = grid_sample(%x, %grid{}) : {}\n  return %1\n}}\n",
                     type_string(DType::f32, x), type_string(DType::f32, grid), options,
                     type_string(DType::f32, y));
}

TEST(GridSample, EveryModeInsideAndOutside) {
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* outside : {"zeros", "border", "reflection"})
      for (const bool corners : {false, true})
        for (const auto& [channels, height, width] :
             {std::array<std::int64_t, 3>{1, 1, 1}, {3, 7, 5}, {16, 4, 1}, {17, 3, 33}, {40, 9, 2}}) {
          const Index x{2, channels, height, width}, grid{2, 9, 11, 2}, y{2, channels, 9, 11};
          // Three times as far as the image reaches, and not next to where the nearest pixel changes.
          Tensor places = random_tensor(DType::f32, grid, 2);
          for_each_index(grid, [&](std::span<const std::int64_t> i) {
            places.set_double(i, std::round(places.get_double(i) * 48) / 16 + 0.01);
          });
          expect_same_on(
              sampling(fmt::format(", mode=\"{}\", outside=\"{}\", align_corners={}", mode, outside, corners),
                       x, grid, y),
              {random_tensor(DType::f32, x, 1), places}, 1e-4, false);
        }
}

TEST(GridSample, ReadsBetweenPixelsAndBeyondThem) {
  const Tensor image = Tensor::of<double>(DType::f32, {1, 1, 1, 2}, {0, 8});
  const Tensor grid = Tensor::of<double>(DType::f32, {1, 1, 3, 2}, {-1, 0, 0, 0, 3, 0});
  const auto expect = [&](const char* outside, double last) {
    Session session(graph_of(sampling(fmt::format(", outside=\"{}\", align_corners=true", outside),
                                      {1, 1, 1, 2}, {1, 1, 3, 2}, {1, 1, 1, 3})));
    expect_close(session.run(std::vector{image, grid})[0],
                 Tensor::of<double>(DType::f32, {1, 1, 1, 3}, {0, 4, last}), 1e-6);
  };
  expect("zeros", 0);
  expect("border", 8);
  expect("reflection", 0);
}

TEST(GridSample, NumbersThatAreNotFiniteReachTheirReadersOnly) {
  Tensor x = random_tensor(DType::f32, {1, 5, 4, 4}, 1), grid = random_tensor(DType::f32, {1, 3, 6, 2}, 2);
  x.set_double(Index{0, 2, 1, 1}, HUGE_VAL);
  grid.set_double(Index{0, 1, 2, 0}, std::nan(""));
  grid.set_double(Index{0, 2, 2, 1}, HUGE_VAL);
  for (const char* mode : {"linear", "nearest"})
    expect_same_on(sampling(fmt::format(", mode=\"{}\"", mode), {1, 5, 4, 4}, {1, 3, 6, 2}, {1, 5, 3, 6}),
                   {x, grid}, 1e-5, false);
}

TEST(Resize, ViewsAreReadWhereTheyLie) {
  expect_same_on(
      "graph g(%x: f32[2,7,5,3]) {\n  %1 = permute(%x, axes=[0,3,1,2]) : f32[2,3,7,5]\n"
      "  %2 = interpolate(%1, mode=\"linear\", output=[9,9]) : f32[2,3,9,9]\n"
      "  %3 = slice(%x, axis=2, start=4, end=0, step=-1) : f32[2,7,4,3]\n"
      "  %4 = interpolate(%3, mode=\"cubic\", output=[9,9]) : f32[2,7,9,9]\n  return %2, %4\n}\n",
      {random_tensor(DType::f32, {2, 7, 5, 3}, 1)});
}

void check_places(const std::string& op, const Index& shape, const Index& result) {
  Tensor x = random_integers(DType::i64, shape, -3, 3, 1).to(DType::f32);  // with equal maxima
  Index at(shape.size(), 0);
  for (at.back() = 0; at.back() < 2; ++at.back()) x.set_double(at, std::nan(""));
  expect_same_on(fmt::format("graph g(%x: {0}) {{\n  %1, %2 = {1} : {2}, {3}\n  return %1, %2\n}}\n",
                             type_string(DType::f32, shape), op, type_string(DType::f32, result),
                             type_string(DType::i64, result)),
                 {x}, 0);
}

TEST(Resize, PoolsThatPadTheirSidesDifferently) {
  for (const char* pad : {"0,0,1,1", "1,0,0,1", "1,1,0,0"})
    for (const char* op : {"max_pool", "avg_pool", "avg_pool(count_include_pad=false)"})
      expect_same_on(
          fmt::format("graph g(%x: f32[2,3,8,8]) {{\n"
                      "  %1 = {}(%x, kernel=3, stride=2, pad=[{}]{}) : f32[2,3,4,4]\n"
                      "  return %1\n}}\n",
                      std::string_view(op).substr(0, 8), pad, op[8] ? ", count_include_pad=false" : ""),
          {random_tensor(DType::f32, {2, 3, 8, 8}, 1)});
}

TEST(Resize, PoolsOfEveryType) {
  for (const DType dtype : {DType::f64, DType::i64, DType::i32, DType::u8}) {
    const Index shape{2, 3, 7, 6};
    const auto of = [&](const char* op, const char* result) {
      expect_same_on(fmt::format("graph g(%x: {0}[2,3,7,6]) {{\n  %1 = {1} : {0}[2,3,{2}]\n  return %1\n}}\n",
                                 name(dtype), op, result),
                     {random_tensor(dtype, shape, 1)});
    };
    of("max_pool(%x, kernel=[2], stride=[2])", "3,3");
    of("adaptive_max_pool(%x, output=[3,4])", "3,4");
    if (!is_float(dtype)) continue;
    of("avg_pool(%x, kernel=[2], stride=[2])", "3,3");
    of("adaptive_avg_pool(%x, output=[3,4])", "3,4");
  }
}

TEST(Resize, MaximaAndTheirPlaces) {
  check_places("max_pool_indices(%x, kernel=[3,2], stride=[2,1], pad=[1,1])", {2, 3, 7, 6}, {2, 3, 4, 7});
  check_places("max_pool_indices(%x, kernel=3, stride=2, dilation=2)", {2, 3, 11}, {2, 3, 4});
  check_places("max_pool_indices(%x, kernel=2, stride=2)", {1, 2, 4, 4, 6}, {1, 2, 2, 2, 3});
  check_places("adaptive_max_pool_indices(%x, output=[3,4])", {2, 3, 7, 6}, {2, 3, 3, 4});
}

}  // namespace
}  // namespace tenon::testing
