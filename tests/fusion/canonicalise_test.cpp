// One spelling for one meaning, but for numbers whose last bits decide.
#include <fmt/format.h>

#include "fusion/last_bits.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

std::string canonical(const std::string& text) {
  const auto graph = graph_with_data(text);
  fuse(*graph, {.fuse = false});
  return body_text(*graph);
}

TEST(Canonicalise, SlicesSideBySideAreWhatTheyAreOf) {
  const auto joined = [](const char* first, const char* second) {
    return canonical(
        fmt::format("graph g(%x: f32[N,2]) {{\n  %1 = slice(%x, axis=1, {}) : f32[N,1]\n"
                    "  %2 = slice(%x, axis=1, {}) : f32[N,1]\n"
                    "  %3 = concat(%1, %2, axis=1) : f32[N,2]\n  return %3\n}}\n",
                    first, second));
  };
  EXPECT_EQ(joined("end=1", "start=1, end=2").find("concat"), std::string::npos);
  EXPECT_NE(joined("start=1, end=2", "end=1").find("concat"), std::string::npos);
  EXPECT_NE(joined("end=1", "end=1").find("concat"), std::string::npos);
}

std::string quotient(const std::string& number, const std::string& behind, const std::string& type) {
  return fmt::format(
      "graph g(%x: f32[N,4]) {{\n  %1 = div(%x, {}) : f32[N,4]\n  %2 = {} : {}[N,4]\n"
      "  return %2\n}}\n",
      number, behind, type);
}

TEST(Canonicalise, AQuotientByANumberIsAProduct) {
  EXPECT_NE(canonical(quotient("41.0", "exp(%1)", "f32")).find("mul(%x, "), std::string::npos);
  // A row that may see nothing is looked for: no last bit makes a number infinite.
  EXPECT_NE(canonical(quotient("41.0", "equal(%1, -inf:f32)", "bool")).find("mul(%x, "), std::string::npos);
}

TEST(Canonicalise, AQuotientWhoseLastBitsDecideStays) {
  const std::pair<const char*, const char*> readers[] = {
      {"floor(%1)", "f32"},
      {"round(%1)", "f32"},
      {"cast(%1, to=i64)", "i64"},
      {"less(%1, 3.0)", "bool"},
      {"cast(%1, to=f8e4m3fn)", "f8e4m3fn"},
      {"remainder(%1, 2.0)", "f32"},
  };
  for (const auto& [reader, type] : readers) {
    EXPECT_NE(canonical(quotient("41.0", reader, type)).find("div(%x, 41.0)"), std::string::npos) << reader;
    EXPECT_NE(canonical(quotient("8.0", reader, type)).find("mul(%x, 0.125)"), std::string::npos)
        << reader << " of an exact product";
  }
}

TEST(Canonicalise, LastBitsAreFollowedToWhereTheyDecide) {
  const auto decide = [](const std::string& rest) {
    const auto graph = parse(
        "graph g(%x: f32[4,4], %y: f32[4,4], %i: i64[2]) {\n"
        "  %1 = div(%x, 448.0) : f32[4,4]\n" +
        rest + "}\n");
    return last_bits_decide(graph->body().nodes().front()->output());
  };
  const char* const deciding[] = {
      // the scale of a dynamic quantisation: codes behind another quotient
      R"(  %2 = amax(%1, axes=[0], keepdim=true) : f32[1,4]
  %3 = div(%y, %2) : f32[4,4]
  %4 = cast(%3, to=f8e4m3fn) : f8e4m3fn[4,4]
  return %4
)",
      R"(  %2 = index_select(%1, %i) : f32[2,4]
  %3 = permute(%2, axes=[1,0]) : f32[4,2]
  %4 = floor(%3) : f32[4,2]
  return %4
)",
      R"(  %2 = argmax(%1, axis=1) : i64[4]
  return %2
)",
      R"(  %2, %3 = sort(%1, axis=1) : f32[4,4], i64[4,4]
  return %2
)",
      R"(  %2 = loop(true:bool, %1, carried=1, limit=2) (%k: i64[], %a: f32[4,4]) {
    %3 = floor(%a) : f32[4,4]
    return true:bool, %3
  } : f32[4,4]
  return %2
)"};
  for (const char* const rest : deciding) EXPECT_TRUE(decide(rest)) << rest;
  EXPECT_FALSE(decide(R"(  %2 = softmax(%1, axis=1) : f32[4,4]
  %3 = floor(%2) : f32[4,4]
  return %3
)"));
}

TEST(Canonicalise, QuotientsThatAreRoundedAreThoseOfPyTorch) {
  const std::string text =
      "graph g(%x: f32[4096]) {\n  %1 = div(%x, 41.0) : f32[4096]\n"
      "  %2 = cast(%1, to=i64) : i64[4096]\n  return %2\n}\n";
  const auto graph = parse(text);
  fuse(*graph);
  Tensor x = Tensor::empty(DType::f32, {4096});
  for (std::int64_t i = 0; i < 4096; ++i) x.set_double(std::vector{i}, static_cast<double>(41 * i));
  const Tensor y = evaluate(*graph, std::vector{x})[0];
  for (std::int64_t i = 0; i < 4096; ++i) ASSERT_EQ(y.get_double(std::vector{i}), static_cast<double>(i));
}

}  // namespace
}  // namespace tenon::testing
