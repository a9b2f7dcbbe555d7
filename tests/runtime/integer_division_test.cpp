// Divisions of integers by what is computed: on every device a divisor of zero ends the run, and nothing of
// them runs on the host.
#include <fmt/format.h>

#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

constexpr std::string_view said = "ZeroDivisionError: an integer is divided by zero";

/// A graph of %a and %b, which it divides by; both of its shapes may differ.
struct Division {
  std::string_view name, body;
  Index a{6, 70}, b{6, 70};
  DType dtype = DType::i64;
  bool is_product = false;  // of which fewer digits are asked
};

std::string text_of(const Division& d) {
  const auto type = [&](const Index& shape) {
    return fmt::format("{}[{}]", name(d.dtype), fmt::join(shape, ","));
  };
  return fmt::format("graph g(%a: {}, %b: {}) {{\n{}}}\n", type(d.a), type(d.b), d.body);
}

// The last divisor stands where a chunk of elements, a block's rows or a tile is not whole.
void expect_division(const Division& d) {
  SCOPED_TRACE(d.name);
  const Tensor a = random_integers(d.dtype, d.a, 1, 100, 1);
  Tensor b = random_integers(d.dtype, d.b, 1, 9, 2);
  expect_same_on(text_of(d), {a, b}, d.is_product ? 1e-4 : 0);
  Index last = d.b;
  for (std::int64_t& size : last) --size;
  b.set_int(last, 0);
  expect_fault(text_of(d), {a, b}, said);
}

TEST(IntegerDivision, ByZeroIsFoundInElements) {
  for (const std::string_view op : {"floor_div", "remainder", "fmod", "trunc_div"})
    for (const DType dtype : {DType::i64, DType::i32, DType::u8})
      for (const Index& shape : {Index{1}, Index{1027}, Index{6, 70}}) {
        const std::string body =
            fmt::format("  %1 = {}(%a, %b) : {}[{}]\n  return %1\n", op, name(dtype), fmt::join(shape, ","));
        expect_division({.name = op, .body = body, .a = shape, .b = shape, .dtype = dtype});
      }
}

TEST(IntegerDivision, ByZeroIsFoundWhereverTheDivisorComesFrom) {
  const Division divisions[] = {
      {.name = "one for all", .body = "  %1 = remainder(%a, %b) : i64[6,70]\n  return %1\n", .b = {}},
      {.name = "one for a row", .body = "  %1 = floor_div(%a, %b) : i64[6,70]\n  return %1\n", .b = {6, 1}},
      {.name = "one for a column", .body = "  %1 = floor_div(%a, %b) : i64[6,70]\n  return %1\n", .b = {70}},
      {.name = "a row's smallest",
       .body = "  %1 = amin(%b, axes=1, keepdim=true) : i64[9,1]\n"
               "  %2 = fmod(%a, %1) : i64[9,70]\n  return %2\n",
       .a = {9, 70},
       .b = {9, 70}},
      {.name = "of a row alone",
       .body = "  %1 = sum(%a, axes=1) : i64[9]\n  %2 = floor_div(%1, %b) : i64[9]\n  return %2\n",
       .a = {9, 70},
       .b = {9}},
      {.name = "before a fold",
       .body = "  %1 = floor_div(%a, %b) : i64[9,70]\n  %2 = sum(%1, axes=1) : i64[9]\n  return %2\n",
       .a = {9, 70},
       .b = {9, 70}},
      {.name = "before a fold of few long rows",
       .body = "  %1 = floor_div(%a, %b) : i64[2,70000]\n  %2 = sum(%1, axes=1) : i64[2]\n  return %2\n",
       .a = {2, 70000},
       .b = {2, 70000}},
      {.name = "what chooses the other value",
       .body = "  %1 = greater(%a, 0) : bool[6,70]\n  %2 = remainder(%a, %b) : i64[6,70]\n"
               "  %3 = where(%1, %a, %2) : i64[6,70]\n  return %3\n"},
  };
  for (const Division& d : divisions) expect_division(d);
}

TEST(IntegerDivision, ByZeroIsFoundBeforeAndBehindProducts) {
  constexpr std::string_view rest = "{ cast(_, to=i64); remainder(_, %b); cast }";
  const std::string before_both = fmt::format(
      "  @w : f32[70,70]\n  %1 = fused {{ fmod(%a, %b); cast }} : f32[6,70]\n"
      "  %2 = fused linear(%1, @w) {} : f32[6,70]\n  return %2\n",
      rest);
  const std::string behind_convolution = fmt::format(
      "  @w : f32[7,1,3,3]\n  %1 = cast(%a) : f32[2,7,9,5]\n"
      "  %2 = fused conv(%1, @w, pad=1, groups=7) {} : f32[2,7,9,5]\n  return %2\n",
      rest);
  const Division divisions[] = {
      {.name = "behind a product of integers",
       .body = "  %1 = fused matmul(%a, %a) { floor_div(_, %b) } : i64[70,70]\n  return %1\n",
       .a = {70, 70},
       .b = {70, 70}},
      {.name = "behind a row",
       .body = "  @w : i64[70,33]\n  %1 = fused matmul(%a, @w) { remainder(_, %b) } : i64[1,33]\n"
               "  return %1\n",
       .a = {1, 70},
       .b = {1, 33}},
      {.name = "before a product",
       .body = "  @w : f32[30,70]\n  %1 = fused { remainder(%a, %b); cast } : f32[6,70]\n"
               "  %2 = linear(%1, @w) : f32[6,30]\n  return %2\n",
       .is_product = true},
      {.name = "before and behind a product", .body = before_both, .is_product = true},
      {.name = "behind a convolution of thin groups",
       .body = behind_convolution,
       .a = {2, 7, 9, 5},
       .b = {2, 7, 9, 5},
       .is_product = true},
  };
  for (const Division& d : divisions) expect_division(d);
}

TEST(IntegerDivision, ByZeroIsFoundInBranchesAndLoops) {
  const Division divisions[] = {
      {.name = "in a branch",
       .body = "  %1 = sum(%a, axes=[0,1]) : i64[]\n  %2 = greater(%1, 0) : bool[]\n"
               "  %3 = if(%2, %a, %b) (%x: i64[6,70], %y: i64[6,70]) {\n"
               "    %4 = remainder(%x, %y) : i64[6,70]\n    return %4\n"
               "  } (%x: i64[6,70], %y: i64[6,70]) {\n    return %x\n  } : i64[6,70]\n  return %3\n"},
      {.name = "in a loop",
       .body =
           "  %1, %3 = loop(true:bool, %a, %b, carried=2, limit=3) (%i: i64[], %x: i64[6,70], %y: i64[6,70]) "
           "{\n    %2 = floor_div(%x, %y) : i64[6,70]\n    return true:bool, %2, %y\n"
           "  } : i64[6,70], i64[6,70]\n  return %1\n"},
  };
  for (const Division& d : divisions) expect_division(d);
}

// A kernel that may meet either says which one it met.
TEST(IntegerDivision, AWrongIndexBesideItIsToldApart) {
  const std::string text =
      "graph g(%i: i64[9], %a: i64[9,5], %b: i64[9,5]) {\n  @t : i64[7,5]\n"
      "  %1 = fused { index_select(@t, %i); add(_, %a); remainder(_, %b) } : i64[9,5]\n  return %1\n}\n";
  Tensor rows = random_integers(DType::i64, {9}, 0, 7, 1), by = random_integers(DType::i64, {9, 5}, 1, 9, 2);
  const Tensor a = random_integers(DType::i64, {9, 5}, 1, 9, 3);
  expect_same_on(text, {rows, a, by}, 0);
  by.set_int(Index{8, 4}, 0);
  expect_fault(text, {rows, a, by}, said);
  by.set_int(Index{8, 4}, 1);
  rows.set_int(Index{8}, 7);
  expect_fault(text, {rows, a, by}, "index 7 is outside of [0, 7)");
}

}  // namespace
}  // namespace tenon::testing
