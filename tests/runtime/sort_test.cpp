// Sorting along an axis: every length and type against the interpreter, equal values and NaN among them.
#include <limits>

#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

// Values that occur more than once, as they do in short types.
Tensor with_equals(DType dtype, const Index& shape, unsigned seed) {
  Tensor t = random_tensor(dtype, shape, seed);
  const Tensor which = random_integers(DType::i64, shape, 0, 40, seed);
  for_each_index(shape, [&](std::span<const std::int64_t> i) {
    const std::int64_t w = which.get_int(i);
    if (is_float(dtype)) {
      if (w < 20) t.set_double(i, static_cast<double>(w - 10) / 4);
      if (w == 21) t.set_double(i, -0.0);
      if (w == 22) t.set_double(i, std::nan(""));
      if (w == 23) t.set_double(i, HUGE_VAL);
      if (w == 24) t.set_double(i, -HUGE_VAL);
    } else if (!is_bool(dtype)) {
      t.set_int(i, w - 20);
    }
  });
  return t;
}

void check(std::string_view op, DType dtype, const Index& shape, const Index& result, bool mode = false) {
  expect_same_on(
      fmt::format("graph g(%x: {0}) {{\n  %1, %2 = {1} : {2}, {3}\n  return %1, %2\n}}\n",
                  type_string(dtype, shape), op, type_string(dtype, result), type_string(DType::i64, result)),
      {mode ? random_integers(dtype, shape, 0, 4, 3) : with_equals(dtype, shape, 3)}, 0);
}

void check_sort(DType dtype, const Index& shape, int axis) {
  for (const bool descending : {false, true})
    check(fmt::format("sort(%x, axis={}, descending={})", axis, descending), dtype, shape, shape);
}

void check_topk(DType dtype, const Index& shape, int axis, std::int64_t k) {
  Index result = shape;
  result[static_cast<std::size_t>(axis)] = k;
  for (const bool largest : {false, true})
    check(fmt::format("topk(%x, k={}, axis={}, largest={})", k, axis, largest), dtype, shape, result);
}

TEST(Sorting, EveryLength) {
  for (const std::int64_t length :
       {1, 2, 31, 32, 33, 64, 65, 128, 129, 256, 257, 1024, 1025, 4096, 4097, 9000})
    check_sort(DType::f32, {2, length}, 1);
}

TEST(Sorting, EveryAxis) {
  for (const int axis : {0, 1, 2})
    for (const Index& shape : {Index{5, 6, 7}, Index{300, 3, 140}}) check_sort(DType::f32, shape, axis);
  check_sort(DType::f32, {5000, 2}, 0);
}

TEST(Sorting, EveryType) {
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                            DType::i8, DType::u8, DType::boolean})
    for (const std::int64_t length : {40, 700}) check_sort(dtype, {3, length}, 1);
  for (const DType dtype : {DType::f64, DType::i64, DType::u8}) check_sort(dtype, {4500}, 0);
}

/// Those that are near each other are sorted by short keys.
TEST(Sorting, IntegersFarApart) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t apart :
       {std::int64_t{1}, std::int64_t{1} << 26, std::int64_t{1} << 27, largest / 20})
    for (const std::int64_t length : {40, 700}) {
      Tensor x = random_integers(DType::i64, {3, length}, -20, 20, 5);
      for_each_index(x.shape(), [&](std::span<const std::int64_t> i) { x.set_int(i, x.get_int(i) * apart); });
      for (const bool descending : {false, true})
        expect_same_on(
            fmt::format("graph g(%x: i64[3,{0}]) {{\n  %1, %2 = sort(%x, axis=1, descending={1}) : "
                        "i64[3,{0}], i64[3,{0}]\n  return %1, %2\n}}\n",
                        length, descending),
            {x}, 0);
    }
}

TEST(Sorting, TheFirstFew) {
  for (const std::int64_t length : {8, 128, 500, 4097, 9000})
    for (const std::int64_t k : {1, 5, 8}) check_topk(DType::f32, {2, length}, 1, k);
  check_topk(DType::f32, {4, 9000}, 1, 257);
  check_topk(DType::f32, {9000}, 0, 5000);
  check_topk(DType::f32, {9000, 2}, 0, 3);
  check_topk(DType::i64, {3000}, 0, 40);
  check_topk(DType::f16, {4500}, 0, 40);
  for (const DType dtype : {DType::f64, DType::bf16, DType::i64, DType::i32, DType::u8, DType::boolean})
    for (const std::int64_t length : {33, 300, 1057, 40000}) check_topk(dtype, {3, length}, 1, 7);
  for (const DType dtype : {DType::f32, DType::i64})
    check_topk(dtype, {2, 20000}, 1, 4900);  // too many for a tree
}

TEST(Sorting, TheKthComesLastWhereTheOthersHaveNoOrder) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64})
    for (const std::int64_t length : {1, 2, 33, 257, 1025, 9000})
      for (const std::int64_t k : {std::int64_t{1}, length / 5 + 1, length / 2 + 1, length}) {
        const std::string x = type_string(dtype, Index{2, length}), first = type_string(dtype, Index{2, k}),
                          first_places = type_string(DType::i64, Index{2, k}),
                          kth = type_string(dtype, Index{2, 1}), place = type_string(DType::i64, Index{2, 1});
        expect_same_on(
            fmt::format("graph g(%x: {0}) {{\n"
                        "  %1, %2 = topk(%x, k={5}, axis=1, largest=false, sorted=false) : {1}, {2}\n"
                        "  %3 = slice(%1, axis=1, start={6}, end={5}) : {3}\n"
                        "  %4 = slice(%2, axis=1, start={6}, end={5}) : {4}\n"
                        "  return %3, %4\n}}\n",
                        x, first, first_places, kth, place, k, k - 1),
            {with_equals(dtype, {2, length}, 5)}, 0);
      }
}

// As medians that skip NaN do.
TEST(Sorting, OneOfEachLineAtARankOfItsOwn) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i8})
    for (const std::int64_t length : {1, 2, 33, 60, 257, 9000})
      for (const int axis : {0, 1}) {
        const Index shape = axis == 0 ? Index{length, 3} : Index{3, length};
        const Index ranks = axis == 0 ? Index{1, 3} : Index{3, 1};
        expect_same_on(
            fmt::format("graph g(%x: {0}, %r: {1}) {{\n  %1, %2 = sort(%x, axis={4}) : {0}, {3}\n"
                        "  %3 = gather(%1, %r, axis={4}) : {2}\n  %4 = gather(%2, %r, axis={4}) : {1}\n"
                        "  return %3, %4\n}}\n",
                        type_string(dtype, shape), type_string(DType::i64, ranks), type_string(dtype, ranks),
                        type_string(DType::i64, shape), axis),
            {with_equals(dtype, shape, 7), random_integers(DType::i64, ranks, 0, length, 8)}, 0);
      }
}

TEST(Sorting, TheFirstFewOfVeryLongLines) {
  for (const std::int64_t length : {16384, 16411, 100003})
    for (const std::int64_t k : {1, 9, 1000}) check_topk(DType::f32, {2, length}, 1, k);
  check_topk(DType::f64, {20001, 2}, 0, 2000);
  check_topk(DType::boolean, {30000}, 0, 700);
}

TEST(Sorting, LinesOfOneValue) {
  for (const std::int64_t length : {100, 700, 5000, 30000}) {
    const std::string text = fmt::format(
        "graph g(%x: f32[{0}]) {{\n  %1, %2 = sort(%x) : f32[{0}], i64[{0}]\n"
        "  %3, %4 = topk(%x, k=7) : f32[7], i64[7]\n"
        "  return %1, %2, %3, %4\n}}\n",
        length);
    expect_same_on(text, {Tensor::of<int>(DType::f32, {1}, {2}).expand({length}).contiguous()}, 0);
  }
}

// No key is larger than these.
TEST(Sorting, TheFirstFewOfTheLastValue) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8})
    for (const bool largest : {false, true}) {
      Tensor x = Tensor::zeros(dtype, {500});
      for (std::int64_t i = 0; i < 500; ++i) {
        if (is_float(dtype))
          x.set_double(Index{i}, i % 100 == 7 ? 1 : largest ? -HUGE_VAL : std::nan(""));
        else if (dtype == DType::u8)
          x.set_int(Index{i}, i % 100 == 7 ? 1 : largest ? 0 : 255);
        else
          x.set_int(Index{i}, i % 100 == 7                     ? 1
                              : dtype == DType::i32 && largest ? std::numeric_limits<std::int32_t>::min()
                              : dtype == DType::i32            ? std::numeric_limits<std::int32_t>::max()
                              : largest                        ? std::numeric_limits<std::int64_t>::min()
                                                               : std::numeric_limits<std::int64_t>::max());
      }
      const std::string type = type_string(dtype, Index{500}), first = type_string(dtype, Index{20});
      expect_same_on(fmt::format("graph g(%x: {}) {{\n  %1, %2 = topk(%x, k=20, largest={}) : {}, i64[20]\n"
                                 "  return %1, %2\n}}\n",
                                 type, largest, first),
                     {x}, 0);
    }
}

TEST(Sorting, TheMostFrequentValue) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::i16, DType::i8, DType::u8, DType::boolean})
    for (const std::int64_t length : {1, 2, 14})
      check("mode(%x, axis=1)", dtype, {9, length}, {9}, !is_bool(dtype));
  check("mode(%x, axis=0)", DType::f32, {16, 3, 5}, {3, 5});
  check("mode(%x, axis=1)", DType::i64, {3, 16, 5}, {3, 5});
}

// PyTorch finds one of many equal elements where std::sort leaves it; GPUs find another.
TEST(Sorting, TheMostFrequentValueOfLongLines) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8, DType::boolean})
    for (const std::int64_t length : {17, 300, 5000}) {
      const std::string text =
          fmt::format("graph g(%x: {0}) {{\n  %1, %2 = mode(%x, axis=1) : {1}, i64[3]\n  return {2}\n}}\n",
                      type_string(dtype, Index{3, length}), type_string(dtype, Index{3}),
                      has_kernels_of_cpu() ? "%1, %2" : "%1");
      for (const Tensor& x : {with_equals(dtype, {3, length}, 1), with_equals(dtype, {3, length}, 2)})
        expect_same_on(text, {x}, 0);
    }
}

TEST(Sorting, WhereValuesBelong) {
  for (const bool right : {false, true}) {
    const Tensor lines = Tensor::of<int>(DType::f32, {2, 5}, {-1, 0, 0, 1, 3, 0, 1, 1, 2, 2});
    Tensor values = with_equals(DType::f32, {2, 300}, 1);
    expect_same_on(fmt::format("graph g(%x: f32[2,5], %v: f32[2,300]) {{\n"
                               "  %1 = search_sorted(%x, %v, right={}) : i64[2,300]\n  return %1\n}}\n",
                               right),
                   {lines, values});
    expect_same_on(fmt::format("graph g(%x: f32[5], %v: f32[2,300]) {{\n"
                               "  %1 = search_sorted(%x, %v, right={}) : i64[2,300]\n  return %1\n}}\n",
                               right),
                   {lines.slice(0, 0, 1).contiguous().view_as({5}), values});
  }
}

}  // namespace
}  // namespace tenon::testing
