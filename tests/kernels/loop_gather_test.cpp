// Loop programs that address an operand through another give what their plain reading gives; a wrong index is
// reported, the same one for every number of threads.
#include "base/error.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class LoopGather : public OnEveryIsa {};
TENON_EVERY_ISA(LoopGather);

/// Fills buffer 0 with indices into [0, range), or [-range, range).
std::function<void(LoopBuffers&)> indices_below(std::int64_t range, bool from_end = false) {
  return [=](LoopBuffers& buffers) {
    std::mt19937 random(7);
    const auto put = [&](auto indices) {
      for (auto& index : indices) {
        index =
            static_cast<std::remove_reference_t<decltype(index)>>(random() % static_cast<unsigned>(range));
        if (from_end && random() % 2 == 0)
          index -= static_cast<std::remove_reference_t<decltype(index)>>(range);
      }
    };
    if (buffers.dtype(0) == DType::i32) return put(buffers.as<std::int32_t>(0));
    put(buffers.as<std::int64_t>(0));
  };
}

struct Table {
  std::int64_t rows = 7;
  DType dtype = DType::f32;
  DType index = DType::i64;
  bool from_end = false;
};

/// out[i][j] = table[index[i]][j] + x[i][j]
LoopProgram rows_by_index(std::int64_t count, std::int64_t width, const Table& t) {
  LoopProgram p("embedding", {count, width});
  const Reg index = p.load({0, t.index, {1, 0}});
  const Reg rows = p.gather({.buffer = 1,
                             .dtype = t.dtype,
                             .strides = {0, 1},
                             .index_stride = width,
                             .range = t.rows,
                             .from_end = t.from_end},
                            index);
  p.store({3, t.dtype, {width, 1}}, p.prim(Prim::max, rows, p.load({2, t.dtype, {width, 1}})));
  return p;
}

TEST_P(LoopGather, TakesRowsOfAnyWidthAndDtype) {
  for (const std::int64_t width : {1, 2, 5, 64, 768, 1500})
    for (const std::int64_t count : {1, 3, 300})
      expect_matches_reference(rows_by_index(count, width, {}), indices_below(7));
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8})
    expect_matches_reference(rows_by_index(40, 33, {.dtype = dtype}), indices_below(7));
  expect_matches_reference(rows_by_index(40, 33, {.index = DType::i32, .from_end = true}),
                           indices_below(7, true));
}

/// The sum of two embeddings and its distance from the row's mean.
LoopProgram normed_embedding(std::int64_t count, std::int64_t width) {
  LoopProgram p("norm", {count, width}, 1);
  const Reg index = p.load({0, DType::i64, {1, 0}});
  const Reg words = p.gather({.buffer = 1, .strides = {0, 1}, .index_stride = width, .range = 20}, index);
  const Reg next = p.prim(Prim::remainder, p.prim(Prim::add, index, p.constant_int(1)), p.constant_int(5));
  const Reg others = p.gather({.buffer = 2, .strides = {0, 1}, .index_stride = width, .range = 5}, next);
  const Reg x = p.prim(Prim::add, words, others);
  const Reg sum = p.reduce(Reduce::sum, x);
  const Reg d = p.prim(Prim::sub, x, p.prim(Prim::div, sum, p.count()));
  const Reg squares = p.reduce(Reduce::sum, p.prim(Prim::mul, d, d));
  p.store({3, DType::f32, {width, 1}}, p.prim(Prim::div, d, p.prim(Prim::sqrt, squares)));
  return p;
}

TEST_P(LoopGather, TakesRowsThatAreReducedAtOnceOrInSeveralWalks) {
  for (const std::int64_t width : {3, 16, 100, 2048, 2049, 70000})
    expect_matches_reference(normed_embedding(width > 2000 ? 3 : 50, width), indices_below(20));
}

TEST_P(LoopGather, TakesElementsAlongTheInnermostAxis) {
  for (const DType dtype : {DType::f32, DType::f16, DType::boolean, DType::i32}) {
    for (const std::int64_t count : {1, 17, 700}) {
      LoopProgram p("columns", {6, count});
      const Reg index = p.load({0, DType::i64, {0, 1}});
      const Reg x =
          p.gather({.buffer = 1, .dtype = dtype, .strides = {9, 0}, .index_stride = 1, .range = 9}, index);
      p.store({2, dtype, {count, 1}}, is_float(dtype) ? p.prim(Prim::neg, x) : x);
      expect_matches_reference(p, indices_below(9));
    }
  }
}

TEST_P(LoopGather, TakesAnIndexForEachElement) {  // out[i][j] = table[index[i][j]][j], and its column sums
  for (const std::int64_t width : {4, 130}) {
    LoopProgram p("along", {50, width});
    const Reg index = p.load({0, DType::i64, {width, 1}});
    p.store({2, DType::f32, {width, 1}},
            p.gather({.buffer = 1, .strides = {0, 1}, .index_stride = width, .range = 11}, index));
    expect_matches_reference(p, indices_below(11));
    LoopProgram sums("sums", {width, 50}, 1);
    const Reg of_column = sums.load({0, DType::i64, {1, width}});
    const Reg x =
        sums.gather({.buffer = 1, .strides = {1, 0}, .index_stride = width, .range = 11}, of_column);
    sums.store({2, DType::f32, {1, 0}}, sums.reduce(Reduce::sum, x));
    expect_matches_reference(sums, indices_below(11));
  }
}

Reg five(LoopProgram& p, DType dtype) {
  const DType type = compute_type(dtype);
  if (is_float(type)) return p.constant(5, type);
  return p.constant_int(is_bool(type) ? 1 : 5, type);
}

TEST_P(LoopGather, OtherIndicesHaveAValueOfTheirOwn) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::boolean, DType::i64, DType::u8})
    for (const std::int64_t width : {1, 5, 300}) {
      LoopProgram rows("rows", {50, width});
      const Reg of_row = rows.load({0, DType::i64, {1, 0}});
      const LoopOperand table{
          .buffer = 1, .dtype = dtype, .strides = {0, 1}, .index_stride = width, .range = 7};
      rows.store({2, dtype, {width, 1}}, rows.gather(table, of_row, five(rows, dtype)));
      expect_matches_reference(rows, indices_below(7, true));

      LoopProgram elements("elements", {4, width});
      const Reg of_element = elements.load({0, DType::i64, {0, 1}});
      const LoopOperand columns{
          .buffer = 1, .dtype = dtype, .strides = {9, 0}, .index_stride = 1, .range = 9};
      elements.store({2, dtype, {width, 1}}, elements.gather(columns, of_element, five(elements, dtype)));
      expect_matches_reference(elements, indices_below(9, true));

      LoopProgram computed("computed", {4, width});  // the values may lie over the indices
      const Reg loaded = computed.load({0, DType::i64, {0, 1}});
      const Reg next = computed.prim(Prim::add, loaded, computed.constant_int(1));
      computed.store({2, dtype, {width, 1}}, computed.gather(columns, next, five(computed, dtype)));
      expect_matches_reference(computed, indices_below(9, true));
    }
}

TEST_P(LoopGather, OneIndexForAll) {
  LoopProgram p("row", {30, 40});
  const Reg index = p.load({0, DType::i64, {0, 0}});
  p.store({2, DType::f32, {40, 1}},
          p.gather({.buffer = 1, .strides = {40, 1}, .index_stride = 1200, .range = 3}, index));
  expect_matches_reference(p, indices_below(3));
}

TEST(LoopGatherErrors, TheFirstWrongIndexIsReported) {
  const LoopProgram p = rows_by_index(5000, 16, {.from_end = true});
  for (const int threads : {1, 3}) {
    LoopBuffers buffers(p);
    indices_below(7, true)(buffers);
    ThreadPool pool(threads);
    buffers.run(pool);
    EXPECT_FALSE(buffers.bad_index);
    buffers.as<std::int64_t>(0)[4000] = 7;
    buffers.as<std::int64_t>(0)[3000] = -8;
    buffers.run(pool);
    ASSERT_TRUE(buffers.bad_index);
    EXPECT_EQ(buffers.bad_index->index, -8);
    EXPECT_EQ(buffers.bad_index->range, 7);
  }
}

TEST(LoopGatherErrors, MalformedGathersAreRefused) {
  const auto refusal = [](const LoopProgram& p) -> std::string {
    try {
      verify(p);
    } catch (const InternalError& e) { return e.what(); }
    return "accepted";
  };
  const LoopProgram good = rows_by_index(3, 4, {});
  EXPECT_EQ(refusal(good), "accepted");
  LoopProgram p = good;
  p.code.instructions[0].type = DType::f32;
  EXPECT_EQ(refusal(p), "loop program embedding: instruction 1: an index is not i64");
  p = good;
  p.shape.operands[1].range = 0;
  EXPECT_EQ(refusal(p), "loop program embedding: instruction 1: gather of nothing");
  p = good;
  p.code.operands[3].buffer = 1;
  EXPECT_EQ(refusal(p), "loop program embedding: instruction 1: gather from memory that is stored to");
  LoopProgram padded("padded", {4});
  const Reg index = padded.load({0, DType::i64, {1}});
  const LoopOperand bytes{.buffer = 1, .dtype = DType::u8, .strides = {0}, .index_stride = 1, .range = 4};
  padded.store({2, DType::u8, {1}}, padded.gather(bytes, index, padded.constant_int(-1)));
  EXPECT_EQ(refusal(padded),
            "loop program padded: instruction 2: the value for other indices is none of the operand's dtype");
  EXPECT_EQ(to_string(good), R"(loop embedding [3, 4] {
  %0 = load b0: i64 (1, 0)
  %1 = gather b1: f32 (0, 1) at %0 * 4 in [0, 7)
  %2 = load b2: f32 (4, 1)
  %3 = max %1, %2 : f32
  store b3: f32 (4, 1), %3
}
)");
}

}  // namespace
}  // namespace tenon::cpu
