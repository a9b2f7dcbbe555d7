// Reading, writing and adding up at places that indices name: every size and type against the interpreter.
#include <fmt/ranges.h>

#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

struct Index3 {
  std::int64_t rows, places, columns;
};

// Entries around waves, blocks and tiles of the sort.
constexpr std::int64_t counts[] = {0, 1, 31, 32, 33, 64, 65, 255, 257, 1024, 1025, 4096, 4097, 9000};

std::string index_add(const char* dtype, const char* index, std::int64_t rows, std::int64_t features,
                      std::int64_t entries) {
  return fmt::format(
      "graph g(%x: {0}[{2},{3}], %i: {1}[{4}], %y: {0}[{4},{3}]) {{\n"
      "  %1 = index_add(%x, %i, %y) : {0}[{2},{3}]\n  return %1\n}}\n",
      dtype, index, rows, features, entries);
}

void check_index_add(DType dtype, DType index, std::int64_t rows, std::int64_t features, std::int64_t entries,
                     double tolerance = 2e-5) {
  expect_same_on(index_add(name(dtype).data(), name(index).data(), rows, features, entries),
                 {random_tensor(dtype, {rows, features}, 1), random_integers(index, {entries}, 0, rows, 2),
                  random_tensor(dtype, {entries, features}, 3)},
                 tolerance);
}

TEST(Places, SumsOfEveryCount) {
  for (const std::int64_t entries : counts) check_index_add(DType::f32, DType::i64, 300, 3, entries);
}

TEST(Places, SumsOfEveryRow) {
  for (const std::int64_t features : {1, 4, 7, 8, 63, 64, 130, 516})
    check_index_add(DType::f32, DType::i32, 5, features, 40);
}

TEST(Places, SumsOfEveryType) {
  for (const DType dtype : {DType::f64, DType::i64, DType::i32, DType::i16, DType::i8, DType::boolean})
    for (const std::int64_t features : {1, 6}) check_index_add(dtype, DType::i64, 9, features, 70);
  for (const DType dtype : {DType::f16, DType::bf16}) check_index_add(dtype, DType::i64, 9, 8, 20, 2e-2);
}

TEST(Places, FewPlacesOfManyAndManyPlacesOfFew) {
  check_index_add(DType::f32, DType::i64, 2, 1, 9000);
  check_index_add(DType::f32, DType::i64, 1, 12, 5000);
  check_index_add(DType::f32, DType::i64, 70000, 2, 40);
}

// As in a graph with hubs: most entries name one of two places.
TEST(Places, AFewPlacesHaveMostEntries) {
  for (const std::int64_t features : {1, 6, 32, 300}) {
    Tensor places = random_integers(DType::i64, {3000}, 0, 500, 1);
    for (std::int64_t i = 0; i < 3000; ++i)
      if (i % 5 != 0) places.set_int(Index{i}, i % 2 ? 17 : 499);
    expect_same_on(index_add("f32", "i64", 500, features, 3000),
                   {random_tensor(DType::f32, {500, features}, 2), places,
                    random_tensor(DType::f32, {3000, features}, 3)});
    expect_same_on(
        fmt::format("graph g(%x: f32[9,{0}], %w: f32[3000,1], %from: i64[3000], %to: i64[3000], "
                    "%s: f32[500,{0}]) {{\n"
                    "  %1 = fused {{ index_select(%x, %from); mul(_, %w); index_add(%s, %to, _) }} : "
                    "f32[500,{0}]\n  return %1\n}}\n",
                    features),
        {random_tensor(DType::f32, {9, features}, 2), random_tensor(DType::f32, {3000, 1}, 3),
         random_integers(DType::i64, {3000}, 0, 9, 4), places,
         random_tensor(DType::f32, {500, features}, 5)});
  }
}

TEST(Places, SumsAlongOtherAxes) {
  for (const int axis : {1, 2}) {
    Index rows{3, 4, 5};
    rows[static_cast<std::size_t>(axis)] = 7;
    const std::int64_t size = axis == 1 ? 4 : 5;
    expect_same_on(
        fmt::format("graph g(%x: f32[3,4,5], %i: i64[7], %y: f32[{}]) {{\n"
                    "  %1 = index_add(%x, %i, %y, axis={}, from_end=true) : f32[3,4,5]\n  return %1\n}}\n",
                    fmt::join(rows, ","), axis),
        {random_tensor(DType::f32, {3, 4, 5}, 1), random_integers(DType::i64, {7}, -size, size, 2),
         random_tensor(DType::f32, rows, 3)});
  }
}

TEST(Places, SpecialValuesStayInTheirRows) {
  Tensor x = random_tensor(DType::f32, {4, 3}, 1), y = random_tensor(DType::f32, {5, 3}, 2);
  x.set_double(Index{0, 0}, -0.0);
  x.set_double(Index{2, 1}, std::nan(""));
  y.set_double(Index{1, 2}, HUGE_VAL);
  y.set_double(Index{3, 2}, -HUGE_VAL);
  y.set_double(Index{4, 0}, std::nan(""));
  expect_same_on(index_add("f32", "i64", 4, 3, 5), {x, Tensor::of<int>(DType::i64, {5}, {3, 1, 3, 2, 3}), y});
}

struct Reduced {
  const char* reduce;
  bool include_self;
};

TEST(Places, ScatterJoins) {
  const Reduced forms[] = {{"none", true},  {"sum", true},  {"sum", false},  {"prod", true},
                           {"prod", false}, {"amax", true}, {"amax", false}, {"amin", true},
                           {"amin", false}, {"mean", true}, {"mean", false}};
  for (const Reduced& form : forms)
    for (const DType dtype :
         {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
      const Index shape{4, 9, 6};
      expect_same_on(
          fmt::format("graph g(%x: {0}[4,5,6], %i: i64[4,9,6], %y: {0}[4,9,6]) {{\n"
                      "  %1 = scatter(%x, %i, %y, axis=1, reduce=\"{1}\"{2}) : {0}[4,5,6]\n  return %1\n}}\n",
                      name(dtype), form.reduce, form.include_self ? "" : ", include_self=false"),
          {random_tensor(dtype, {4, 5, 6}, 1), random_integers(DType::i64, shape, 0, 4, 2),
           random_tensor(dtype, shape, 3)},
          is_small_float(dtype) ? 2e-2 : 2e-5);
    }
}

// Elements of 16 bits that are joined with few others, some of them twice.
TEST(Places, JoinsAtFewPlaces) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::int64_t columns : {1, 3, 40}) {
      const Index x{2, 300, columns}, y{2, 6, columns}, rows{6, columns};
      const auto text = [&](const Index& at, const Index& values, std::string_view call) {
        return fmt::format("graph g(%x: {0}, %i: {1}, %y: {2}) {{\n  %1 = {3} : {0}\n  return %1\n}}\n",
                           type_string(dtype, x), type_string(DType::i64, at), type_string(dtype, values),
                           call);
      };
      const auto check = [&](const Index& at, const Index& values, std::string_view call) {
        Tensor numbers = random_tensor(dtype, x, 1);
        numbers.set_double(Index{1, 2, 0}, std::nan(""));
        Tensor indices = random_integers(DType::i64, at, 0, 4, 2);
        expect_same_on(text(at, values, call), {numbers, indices, random_tensor(dtype, values, 3)}, 2e-2);
        indices.set_int(Index(at.size(), 0), 300);
        expect_fault(text(at, values, call), {numbers, indices, random_tensor(dtype, values, 3)},
                     "index 300 is outside");
      };
      for (const char* reduce : {"sum", "prod", "amax", "amin"})
        for (const char* self : {"", ", include_self=false"})
          check(y, y, fmt::format("scatter(%x, %i, %y, axis=1, reduce=\"{}\"{})", reduce, self));
      check({6}, y, "index_add(%x, %i, %y, axis=1)");
      check({6}, y, "index_put(%x, %y, %i, axes=1, accumulate=true)");
      check({6}, rows, "index_put(%x, %y, %i, axes=1, accumulate=true)");
    }
}

// Several of them are one piece of work.
TEST(Places, WritesToManyShortSlabs) {
  for (const auto& [rows, places, columns] : {Index3{3, 1, 1}, Index3{2, 7, 1}, Index3{4, 3, 2}})
    for (const char* form : {"reduce=\"none\"", "reduce=\"sum\"", "reduce=\"sum\", include_self=false",
                             "reduce=\"amax\"", "reduce=\"mean\""})
      for (const DType dtype : {DType::f32, DType::i64, DType::u8}) {
        const Index x{5000, rows, columns}, y{5000, places, columns};
        const std::string text = fmt::format(
            "graph g(%x: {0}, %i: {1}, %y: {2}) {{\n  %1 = scatter(%x, %i, %y, axis=1, {3}) : {0}\n"
            "  return %1\n}}\n",
            type_string(dtype, x), type_string(DType::i64, y), type_string(dtype, y), form);
        Tensor indices = random_integers(DType::i64, y, 0, rows, 2);
        expect_same_on(text, {random_tensor(dtype, x, 1), indices, random_tensor(dtype, y, 3)});
        indices.set_int(Index{4321, 0, 0}, rows);
        expect_fault(text, {random_tensor(dtype, x, 1), indices, random_tensor(dtype, y, 3)},
                     fmt::format("index {} is outside", rows));
      }
}

TEST(Places, WritesIntoOneNumber) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean})
    for (const int number : {0, 1})
      for (const bool accumulate : {false, true}) {
        const std::string type(name(dtype));
        const auto text = [&](std::string_view call) {
          return fmt::format(
              "graph g(%i: i64[5], %e: i64[4,5,6], %y: {0}[4,5,6]) {{\n"
              "  %1 = full(shape=[4,9,6], value={1}, dtype={0}) : {0}[4,9,6]\n  %2 = {2} : {0}[4,9,6]\n  "
              "return "
              "%2\n}}\n",
              type, number, call);
        };
        const std::vector<Tensor> inputs = {random_integers(DType::i64, {5}, 0, 9, 1),
                                            random_integers(DType::i64, {4, 5, 6}, 0, 9, 2),
                                            random_tensor(dtype, {4, 5, 6}, 3)};
        const double tolerance = is_small_float(dtype) ? 2e-2 : 2e-5;
        const char* const adds = accumulate ? ", accumulate=true" : "";
        expect_same_on(text(fmt::format("index_put(%1, %y, %i, axes=1{})", adds)), inputs, tolerance);
        const char* const reduce = accumulate ? "sum" : "none";
        expect_same_on(text(fmt::format("scatter(%1, %e, %y, axis=1, reduce=\"{}\")", reduce)), inputs,
                       tolerance);
      }
}

// As counts are: no tensor of it is read.
TEST(Places, WritesOneNumber) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean})
    for (const bool joins : {false, true}) {
      if (joins && is_bool(dtype)) continue;
      const auto text = [&](std::string_view call) {
        return fmt::format(
            "graph g(%x: {0}[4,9,6], %i: i64[5], %e: i64[4,5,6]) {{\n"
            "  %1 = full(shape=[4,5,6], value=1, dtype={0}) : {0}[4,5,6]\n  %2 = {1} : {0}[4,9,6]\n"
            "  return %2\n}}\n",
            name(dtype), call);
      };
      const std::vector<Tensor> inputs = {random_tensor(dtype, {4, 9, 6}, 1),
                                          random_integers(DType::i64, {5}, 0, 9, 2),
                                          random_integers(DType::i64, {4, 5, 6}, 0, 9, 3)};
      const double tolerance = is_small_float(dtype) ? 2e-2 : 2e-5;
      const char* const reduce = joins ? "sum" : "none";
      expect_same_on(text(fmt::format("scatter(%x, %e, %1, axis=1, reduce=\"{}\")", reduce)), inputs,
                     tolerance);
      expect_same_on(text(joins ? "index_add(%x, %i, %1, axis=1)" : "index_put(%x, %1, %i, axes=1)"), inputs,
                     tolerance);
    }
}

// Integers of a few places are counted.
TEST(Places, CountsManyIndicesOfAFewPlaces) {
  for (const DType dtype : {DType::i32, DType::i64})
    for (const DType index : {DType::i32, DType::i64})
      for (const std::int64_t count : {4, 15, 4001})
        for (const std::int64_t places : {1, 100, 1000, 1025}) {
          const std::string text = fmt::format(
              "graph g(%x: {0}[{2}], %i: {1}[{3}]) {{\n"
              "  %1 = full(shape={3}, value=-3, dtype={0}) : {0}[{3}]\n"
              "  %2 = scatter(%x, %i, %1, reduce=\"sum\") : {0}[{2}]\n  return %2\n}}\n",
              name(dtype), name(index), places, count);
          Tensor indices = random_integers(index, {count}, 0, places, 4);
          const Tensor x = random_tensor(dtype, {places}, 1);
          expect_same_on(text, {x, indices}, 0);
          indices.set_int(Index{count - 1}, places);
          expect_fault(text, {x, indices}, fmt::format("index {0} is outside of [0, {0})", places));
        }
}

TEST(Places, ScatterOfAPartAndOfManyIntoFew) {
  expect_same_on(
      "graph g(%x: f32[4,6], %i: i64[3,2], %y: f32[5,7]) {\n"
      "  %1 = scatter(%x, %i, %y, axis=1) : f32[4,6]\n  return %1\n}\n",
      {random_tensor(DType::f32, {4, 6}, 1), random_integers(DType::i64, {3, 2}, 0, 6, 2),
       random_tensor(DType::f32, {5, 7}, 3)});
  for (const char* reduce : {"none", "sum", "amax", "mean"})
    expect_same_on(fmt::format("graph g(%x: f32[3], %i: i64[5000], %y: f32[5000]) {{\n"
                               "  %1 = scatter(%x, %i, %y, reduce=\"{}\") : f32[3]\n  return %1\n}}\n",
                               reduce),
                   {random_tensor(DType::f32, {3}, 1), random_integers(DType::i64, {5000}, 0, 3, 2),
                    random_tensor(DType::f32, {5000}, 3)});
}

TEST(Places, ScatterKeepsNanAndBools) {
  Tensor y = random_tensor(DType::f32, {9}, 1);
  y.set_double(Index{4}, std::nan(""));
  for (const char* reduce : {"amax", "amin", "sum", "none"})
    expect_same_on(fmt::format("graph g(%x: f32[3], %i: i64[9], %y: f32[9]) {{\n"
                               "  %1 = scatter(%x, %i, %y, reduce=\"{}\") : f32[3]\n  return %1\n}}\n",
                               reduce),
                   {random_tensor(DType::f32, {3}, 1),
                    Tensor::of<int>(DType::i64, {9}, {0, 1, 1, 0, 1, 0, 0, 1, 0}), y});
  expect_same_on(
      "graph g(%x: bool[3], %i: i64[9], %y: bool[9]) {\n"
      "  %1 = scatter(%x, %i, %y) : bool[3]\n  return %1\n}\n",
      {random_tensor(DType::boolean, {3}, 1), random_integers(DType::i64, {9}, 0, 3, 2),
       random_tensor(DType::boolean, {9}, 3)});
}

TEST(Places, IndexPutAnywhere) {
  struct Case {
    const char *axes, *value, *indices;
    std::vector<std::tuple<Index, std::int64_t, DType>> of;  // each tensor of indices: shape, range, type
  };
  constexpr DType i64 = DType::i64, i32 = DType::i32;
  const Case cases[] = {
      {"0", "7,4,5", "%i: i64[7]", {{{7}, 3, i64}}},
      {"1", "3,7,5", "%i: i64[7]", {{{7}, 4, i64}}},
      {"2", "1", "%i: i64[7]", {{{7}, 5, i64}}},
      {"[0,1]", "7,5", "%i: i64[7], %j: i64[7]", {{{7}, 3, i64}, {{7}, 4, i64}}},
      {"[1,2]", "3,2,7", "%i: i64[2,1], %j: i32[7]", {{{2, 1}, 4, i64}, {{7}, 5, i32}}},
      {"[0,2]", "7,4", "%i: i64[7], %j: i64[7]", {{{7}, 3, i64}, {{7}, 5, i64}}},
      {"[0,1,2]", "7", "%i: i64[7], %j: i64[7], %k: i64[1]", {{{7}, 3, i64}, {{7}, 4, i64}, {{1}, 5, i64}}}};
  constexpr const char* names[] = {"", "%i", "%i, %j", "%i, %j, %k"};
  for (const Case& c : cases)
    for (const bool accumulate : {false, true}) {
      const std::string text = fmt::format(
          "graph g(%x: f32[3,4,5], %v: f32[{}], {}) {{\n"
          "  %1 = index_put(%x, %v, {}, axes={}{}) : f32[3,4,5]\n  return %1\n}}\n",
          c.value, c.indices, names[c.of.size()], c.axes, accumulate ? ", accumulate=true" : "");
      std::vector<Tensor> inputs = inputs_of(*graph_of(text), {});
      for (std::size_t k = 0; k < c.of.size(); ++k) {
        const auto& [shape, range, dtype] = c.of[k];
        inputs[2 + k] = random_integers(dtype, shape, -range, range, static_cast<unsigned>(k));
      }
      expect_same_on(text, inputs);
    }
}

TEST(Places, ReadsAnywhere) {
  const auto x = random_tensor(DType::f32, {3, 4, 5}, 1);
  expect_same_on(
      "graph g(%x: f32[3,4,5], %i: i64[7], %j: i64[2,1]) {\n"
      "  %1 = index(%x, %i, %j, axes=[0,1]) : f32[2,7,5]\n"
      "  %2 = index(%x, %i, %j, axes=[1,2]) : f32[3,2,7]\n"
      "  %3 = index(%x, %i, %j, axes=[0,2]) : f32[2,7,4]\n  return %1, %2, %3\n}\n",
      {x, random_integers(DType::i64, {7}, -3, 3, 2), random_integers(DType::i64, {2, 1}, -4, 4, 3)});
  for (const int axis : {0, 1, 2})
    expect_same_on(fmt::format("graph g(%x: f32[3,4,5], %i: i32[2,4,3]) {{\n"
                               "  %1 = gather(%x, %i, axis={}) : f32[2,4,3]\n  return %1\n}}\n",
                               axis),
                   {x, random_integers(DType::i32, {2, 4, 3}, 0, 3, 2)});
}

// Few slices of a large table, whose axes lie apart: the table is not copied.
TEST(Places, ReadsSlicesWhereTheyLie) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::u8}) {
    const auto x = random_tensor(dtype, {12, 20, 6, 40}, 1);
    const std::vector<Tensor> inputs{x, random_integers(DType::i64, {3}, -20, 20, 2),
                                     random_integers(DType::i32, {2, 1}, -40, 40, 3),
                                     random_integers(DType::i64, {3}, -6, 6, 4)};
    const std::string given =
        fmt::format("graph g(%x: {}[12,20,6,40], %i: i64[3], %j: i32[2,1], %k: i64[3]) {{\n", name(dtype));
    for (const auto& [call, result] : {std::pair{"index(%x, %i, %j, axes=[1,3])", "[2,3,12,6]"},
                                       std::pair{"index(%x, %i, %k, axes=[1,2])", "[12,3,40]"},
                                       std::pair{"index(%1, %j, %i, axes=[0,2])", "[2,3,6,12]"},
                                       std::pair{"index(%1, %j, %k, axes=[0,1])", "[2,3,20,12]"},
                                       std::pair{"index(%2, %i, %k, axes=[1,2])", "[12,3,20]"},
                                       std::pair{"index(%x, %k, %i, %k, %j, axes=[0,1,2,3])", "[2,3]"}})
      expect_same_on(fmt::format("{0}  %1 = permute(%x, axes=[3,2,1,0]) : {1}[40,6,20,12]\n"
                                 "  %2 = slice(%x, axis=3, start=39, end=0, step=-2) : {1}[12,20,6,20]\n"
                                 "  %3 = {2} : {1}{3}\n  return %3\n}}\n",
                                 given, name(dtype), call, result),
                     inputs);
  }
  expect_fault(
      "graph g(%x: f32[12,20,6,40], %i: i64[2], %j: i64[2]) {\n"
      "  %1 = index(%x, %i, %j, axes=[1,3]) : f32[2,12,6]\n  return %1\n}\n",
      {random_tensor(DType::f32, {12, 20, 6, 40}, 1), Tensor::of<int>(DType::i64, {2}, {1, -21}),
       Tensor::of<int>(DType::i64, {2}, {1, 2})},
      "index -21 is outside of [-20, 20)");
}

// Results may lie over the operand, where nobody needs it any more; not where the values are a view of it.
TEST(Places, WritesInPlace) {
  const auto x = random_tensor(DType::f32, {4, 6}, 1), y = random_tensor(DType::f32, {5, 6}, 2);
  const Tensor rows = Tensor::of<int>(DType::i64, {5}, {3, 1, 3, 3, 1});
  expect_same_on(
      "graph g(%x: f32[4,6], %i: i64[5], %y: f32[5,6]) {\n"
      "  %1 = exp(%x) : f32[4,6]\n  %2 = index_add(%1, %i, %y) : f32[4,6]\n"
      "  %3 = index_put(%2, %y, %i, axes=0) : f32[4,6]\n"
      "  %5 = slice(%3, axis=0, start=1, end=4) : f32[3,6]\n"
      "  %6 = slice(%i, axis=0, start=0, end=3) : i64[3]\n"
      "  %7 = index_add(%3, %6, %5) : f32[4,6]\n  %8 = neg(%7) : f32[4,6]\n  return %8\n}\n",
      {x, rows, y});
}

TEST(Places, OneHotRowsOfAnyWidth) {
  for (const std::int64_t count : {1, 3, 1000})
    for (const std::int64_t classes : {1, 7, 20000})
      if (count * classes <= 100000)
        expect_same_on(
            fmt::format("graph g(%i: i64[{0},2]) {{\n  %1 = one_hot(%i, classes={1}) : i64[{0},2,{1}]\n"
                        "  return %1\n}}\n",
                        count, classes),
            {random_integers(DType::i64, {count, 2}, 0, classes, 1)}, 0);
}

// More than kernels count: those along which all goes on evenly are one.
TEST(Places, AlongManyAxes) {
  const Index shape(11, 2);
  const std::string sizes = "2,2,2,2,2,2,2,2,2,2,2";
  const Tensor x = random_tensor(DType::f32, shape, 1), values = random_tensor(DType::f32, shape, 2),
               all = random_integers(DType::i64, shape, 0, 2, 3);
  for (const char* call : {"scatter(%x, %i, %y, axis=4)", "scatter(%x, %i, %y, axis=0, reduce=\"sum\")",
                           "scatter(%x, %i, %y, axis=10)", "gather(%x, %i, axis=3)"})
    expect_same_on(fmt::format("graph g(%x: f32[{0}], %i: i64[{0}], %y: f32[{0}]) {{\n  %1 = {1} : f32[{0}]\n"
                               "  return %1\n}}\n",
                               sizes, call),
                   {x, all, values});
  // Indices that are stretched along every second axis.
  const Tensor some = random_integers(DType::i64, {2, 1, 2, 1, 2, 1, 2, 1, 2, 1}, -3, 3, 4);
  const std::string inputs =
      "graph g(%x: f32[3,3], %i: i64[2,1,2,1,2,1,2,1,2,1], %j: i64[2,2,2,2,2,2,2,2,2,2], %y: f32[]) {\n";
  const std::vector<Tensor> given{random_tensor(DType::f32, {3, 3}, 5), some,
                                  random_integers(DType::i64, Index(10, 2), -3, 3, 6),
                                  random_tensor(DType::f32, {}, 7)};
  expect_same_on(inputs + "  %1 = index(%x, %i, %j, axes=[0,1]) : f32[2,2,2,2,2,2,2,2,2,2]\n  return %1\n}\n",
                 given);
  expect_same_on(
      inputs + "  %1 = index_put(%x, %y, %i, %j, axes=[0,1], accumulate=true) : f32[3,3]\n  return %1\n}\n",
      given, 1e-4);
}

// What chooses of an empty list is an error where it is reached, and there alone.
TEST(Places, NothingIsChosenOfNothing) {
  const std::vector<Tensor> inputs{Tensor::zeros(DType::f32, {0, 4}), Tensor::zeros(DType::i64, {2})};
  const std::pair<const char*, const char*> calls[] = {{"index_select(%a, %k) : f32[2,4]", "0,1"},
                                                       {"index(%a, %k, axes=[0]) : f32[2,4]", "0,1"},
                                                       {"index(%a, %k, %k, axes=[0,1]) : f32[2]", "0"},
                                                       {"gather(%a, %j) : f32[2,1]", "0,1"}};
  for (const auto& [call, axes] : calls) {
    const auto text = [call = call, axes = axes](int below) {
      return fmt::format(
          "graph g(%x: f32[N,4], %i: i64[2]) {{\n"
          "  %1 = sum(%i, axes=[0]) : i64[]\n"
          "  %2 = greater(%1, {}) : bool[]\n"
          "  %3 = if(%2, %x, %i) (%a: f32[N,4], %k: i64[2]) {{\n"
          "    %j = reshape(%k, shape=[2,1]) : i64[2,1]\n"
          "    %4 = {}\n"
          "    %5 = sum(%4, axes=[{}]) : f32[]\n"
          "    return %5\n"
          "  }} (%b: f32[N,4], %c: i64[2]) {{\n"
          "    return 7.0:f32\n"
          "  }} : f32[]\n"
          "  return %3\n}}\n",
          below, call, axes);
    };
    SCOPED_TRACE(call);
    expect_same_on(text(0), inputs);
    expect_fault(text(-1), inputs, "index 0 is out");
  }
}

TEST(Places, WrongIndicesAreNamed) {
  const auto x = random_tensor(DType::f32, {4, 6}, 1), y = random_tensor(DType::f32, {5, 6}, 2);
  Tensor rows = Tensor::of<int>(DType::i64, {5}, {0, 3, 4, 1, 2});
  expect_fault(index_add("f32", "i64", 4, 6, 5), {x, rows, y}, "index 4 is outside of [0, 4)");
  expect_fault("graph g(%i: i64[5]) {\n  %1 = one_hot(%i, classes=4) : i64[5,4]\n  return %1\n}\n", {rows},
               "index 4 is out");
  rows.set_int(Index{2}, -1);
  expect_fault(index_add("f32", "i64", 4, 6, 5), {x, rows, y}, "index -1 is outside of [0, 4)");
  expect_fault(
      "graph g(%x: f32[3,4,5], %i: i64[2], %j: i64[2]) {\n"
      "  %1 = index(%x, %i, %j, axes=[0,1]) : f32[2,5]\n  return %1\n}\n",
      {random_tensor(DType::f32, {3, 4, 5}, 1), Tensor::of<int>(DType::i64, {2}, {0, -3}),
       Tensor::of<int>(DType::i64, {2}, {3, 4})},
      "index 4 is outside of [-4, 4)");
  Tensor all = random_integers(DType::i64, {5, 6}, 0, 4, 3);
  all.set_int(Index{4, 5}, 7);
  expect_fault(
      "graph g(%x: f32[4,6], %i: i64[5,6], %y: f32[5,6]) {\n"
      "  %1 = scatter(%x, %i, %y, reduce=\"amax\") : f32[4,6]\n  return %1\n}\n",
      {x, all, y}, "index 7 is outside of [0, 4)");
  expect_fault(
      "graph g(%x: f32[4,6], %i: i64[5,6]) {\n"
      "  %1 = gather(%x, %i, axis=0) : f32[5,6]\n  return %1\n}\n",
      {x, all}, "index 7 is outside of [0, 4)");
}

}  // namespace
}  // namespace tenon::testing
