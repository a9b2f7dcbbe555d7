// Operators on strings: which take them and which refuse, and what those that compute give. Elements of a
// tensor of strings stand between bars: "string[3] one|two words|". Values that are not plain come from
// Python.
#include "ir/ops/text.h"

#include <algorithm>
#include <set>

#include "ir/ops/functions.h"
#include "tests/ir/ops/cases.h"

namespace tenon {
std::vector<const OpInfo*> text_ops();
}

namespace tenon::test {
namespace {

TEST(Strings, AreMovedComparedAndChosen) {
  expect_all({
      {"reshape(%0, shape=[2,2])", {"string[4] a|b|c|d"}, {"string[2,2] a|b|c|d"}},
      {"permute(%0, axes=[1,0])", {"string[2,2] a|b|c|d"}, {"string[2,2] a|c|b|d"}},
      {"slice(%0, start=1, end=3)", {"string[4] a|b|c|d"}, {"string[2] b|c"}},
      {"expand(%0, shape=[2,1])", {"string[1,1] a b"}, {"string[2,1] a b|a b"}},
      {"flip(%0, axes=[0])", {"string[3] a||c"}, {"string[3] c||a"}},
      {"concat(%0, %1)", {"string[1] a", "string[2] |c"}, {"string[3] a||c"}},
      {"index_select(%0, %1)", {"string[3] a|b|c", "i64[2] 2 0"}, {"string[2] c|a"}},
      {"gather(%0, %1, axis=1)", {"string[1,3] a|b|c", "i64[1,2] 2 0"}, {"string[1,2] c|a"}},
      {"index(%0, %1, axes=[0])", {"string[3] a|b|c", "i64[2] -1 0"}, {"string[2] c|a"}},
      {"equal(%0, %1)", {"string[3] a|b|", "string[1] b"}, {"bool[3] 0 1 0"}},
      {"not_equal(%0, \"b\")", {"string[2] a|b"}, {"bool[2] 1 0"}},
      {"where(%0, %1, %2)", {"bool[2] 1 0", "string[2] a|b", "string[] z"}, {"string[2] a|z"}},
  });
}

// Operands of strings, as many as an operator takes at least.
std::string refusal(const OpInfo& op) {
  const std::vector<Type> operands(static_cast<std::size_t>(std::max(op.min_inputs, 1)),
                                   Type{DType::string, {2}});
  try {
    op.make().infer(operands);
    return "";
  } catch (const Error& e) { return e.message(); }
}

TEST(Strings, AreRefusedByWhateverComputes) {
  const std::set<std::string_view> movers = {"reshape", "permute",      "slice",  "expand", "concat",
                                             "flip",    "index_select", "gather", "index"};
  const std::set<std::string_view> comparisons = {"equal", "not_equal", "where",
                                                  "clamp"};  // clamp: without bounds
  const auto texts = text_ops();
  for (const OpInfo* op : all_ops()) {
    const bool is_text = std::find(texts.begin(), texts.end(), op) != texts.end();
    if (op->min_inputs == 0 || op->regions > 0 || is_text) continue;
    EXPECT_EQ(op->takes_strings, op->op_kind == OpKind::pointwise || movers.contains(op->name)) << op->name;
    if (op->op_kind == OpKind::pointwise && !comparisons.contains(op->name)) {
      EXPECT_NE(refusal(*op).find("string"), std::string::npos) << op->name << ": " << refusal(*op);
    } else if (!op->takes_strings) {
      EXPECT_NE(refusal(*op).find("is about numbers"), std::string::npos) << op->name << ": " << refusal(*op);
    }
  }
}

TEST(Strings, AreNoNumbers) {
  EXPECT_EQ(error_of("add(%0, %1)", {"string[2]", "string[2]"}, {"string[2]"}),
            "add: add takes numbers, not strings");
  EXPECT_EQ(error_of("sum(%0, axes=[0])", {"string[2]"}, {"string[]"}),
            "sum is about numbers, its operand 0 is string[2]");
  EXPECT_EQ(error_of("full(shape=[2], dtype=string)", {}, {"string[2]"}),
            "full is about numbers, its result 0 is string[2]");
  EXPECT_EQ(error_of("equal(%0, %1)", {"string[2]", "i64[2]"}, {"bool[2]"}),
            "equal: eq takes operands of one dtype, not string and i64");
  EXPECT_EQ(error_of("equal(%0, 3)", {"string[2]"}, {"bool[2]"}), "3 is not a string");
  EXPECT_EQ(error_of("cast(%0, to=f32)", {"string[2]"}, {"f32[2]"}), "cast: cast takes numbers, not strings");
  EXPECT_EQ(error_of("cast(%0, to=string)", {"f32[2]"}, {"string[2]"}),
            "cast: cast takes numbers, not strings");
  EXPECT_THROW(tensor("string[1] 5").get_double(Index{0}), Error);
  EXPECT_THROW(tensor("string[1] 5").to(DType::i64), Error);
}

TEST(Strings, OfNumbersAreTheShortestThatReadBack) {
  expect_all({
      {"to_string(%0)", {"i64[3] -5 0 4611686018427387904"}, {"string[3] -5|0|4611686018427387904"}},
      {"to_string(%0)", {"u8[1] 200"}, {"string[1] 200"}},
      {"to_string(%0)", {"f64[4] 0.1 1e22 -0.0 1e-5"}, {"string[4] 0.1|1e+22|-0.0|1e-05"}},
      {"to_string(%0)", {"f32[4] 0.1 999999 1e6 16777216"}, {"string[4] 0.1|999999.0|1e+06|1.6777216e+07"}},
      {"to_string(%0)", {"f16[4] 0.1 0.3333 999 65504"}, {"string[4] 0.1|0.3333|999.0|6.55e+04"}},
      {"to_string(%0)", {"f32[3] nan inf -inf"}, {"string[3] nan|inf|-inf"}},
  });
  EXPECT_NE(error_of("to_string(%0)", {"bool[1]"}, {"string[1]"}), "");
  EXPECT_NE(error_of("to_string(%0)", {"bf16[1]"}, {"string[1]"}), "");
}

TEST(Strings, AreReadAsNumbers) {
  expect_all({
      {"parse_number(%0)", {"string[5] 3.14|1e-5|+1E8| 2 |-.5"}, {"f32[5] 3.14 1e-5 1e8 2 -0.5"}},
      {"parse_number(%0)", {"string[5] INF|+inf|-Infinity|nan|1e400"}, {"f32[5] inf inf -inf nan inf"}},
      {"parse_number(%0, to=f64)", {"string[2] 0.1|1e-400"}, {"f64[2] 0.1 0"}},
      {"parse_number(%0, to=f16)", {"string[1] 0.1"}, {"f16[1] 0.1"}},
      {"parse_number(%0, to=i64)", {"string[2] -7|+4611686018427387904"}, {"i64[2] -7 4611686018427387904"}},
  });
  for (const char* text : {"", "x", "1_000", "0x10", "1.5.2", "+-3", "1 2", "nan(1)"})
    EXPECT_THROW(run("parse_number(%0)", {std::string("string[1] ") + text}, {"f32[1]"}), Error) << text;
  for (const char* text : {"3.7", "300", "-1", "1e2"})
    EXPECT_THROW(run("parse_number(%0, to=u8)", {std::string("string[1] ") + text}, {"u8[1]"}), Error)
        << text;
}

TEST(Strings, JoinSplitAndChangeCase) {
  expect_all({
      {"concat_strings(%0, %1)", {"string[3] cat|dog|", "string[1] s"}, {"string[3] cats|dogs|s"}},
      {"change_case(%0)", {"string[3] ÄbC|ΣΑΣ|ß1"}, {"string[3] äbc|σασ|ß1"}},
      {"change_case(%0, to=\"upper\")", {"string[3] äbC|σας|ß1"}, {"string[3] ÄBC|ΣΑΣ|ß1"}},
      {"match_pattern(%0, pattern=\"a+(b|日)\")", {"string[4] aab|ab |a日|xab"}, {"bool[4] 1 0 1 0"}},
  });
  struct Split {
    std::string attributes, text, parts, counts;

    std::vector<std::string> types() const {
      const std::string shape = text.substr(6, text.find(']') - 6);  // "[2"
      return {"string[?0," + shape.substr(1) + "]", "i64" + shape + "]"};
    }
  };
  for (const Split& s :
       {Split{"", "string[2]  a  b |c\u3000d", "string[2,2] a|c|b|d", "i64[2] 2 2"},
        Split{", delimiter=\"-\"", "string[2] o--x|", "string[3,2] o||||x|", "i64[2] 3 1"},
        Split{", most=1", "string[2] a b c|d", "string[2,2] a|d|b c|", "i64[2] 2 1"},
        Split{", delimiter=\"ab\", most=1", "string[1] xabyab", "string[2,1] x|yab", "i64[1] 2"},
        Split{"", "string[0]", "string[0,0]", "i64[0]"}}) {
    const auto outputs = run("split_strings(%0, count=?0" + s.attributes + ")", {s.text}, s.types());
    expect_near(outputs[0], tensor(s.parts), 0, s.text);
    expect_near(outputs[1], tensor(s.counts), 0, s.text);
  }
  EXPECT_NE(
      error_of("match_pattern(%0, pattern=\"(\")", {"string[1]"}, {"bool[1]"}).find("no regular expression"),
      std::string::npos);
}

TEST(Strings, AndNumbersAreFound) {
  expect_all({
      {"find(%0, %1)", {"string[2,2] a|b|d|", "string[3] a||a"}, {"i64[2,2] 2 3 3 1"}},
      {"find(%0, %1)", {"f32[4] nan 0.5 -0.0 7", "f32[3] 0 nan 0.5"}, {"i64[4] 1 2 0 3"}},
      {"find(%0, %1)", {"i32[2] 5 -1", "i32[2] -1 5"}, {"i64[2] 1 0"}},
      {"find(%0, %1)", {"i32[2] 5 -1", "i32[0]"}, {"i64[2] 0 0"}},
  });
}

TEST(Strings, AreCountedAsNgrams) {
  const std::string attributes = "starts=[0,2], places=[2,0,1], size=3, shortest=1, longest=2";
  expect_all({
      {"count_ngrams(%0, %1, " + attributes + ")",
       {"string[5] a|b|a|a|c", "string[4] a|c|a|b"},
       {"i64[3] 1 1 3"}},
      {"count_ngrams(%0, %1, " + attributes + ", skips=3)",
       {"string[2,3] a|b|b|a|x|b", "string[4] a|c|a|b"},
       {"i64[2,3] 0 2 1 0 1 1"}},
  });
  EXPECT_THROW(run("count_ngrams(%0, %1, " + attributes + ")", {"i64[2] 1 2", "i64[3] 1 2 3"}, {"i64[3]"}),
               Error);
}

}  // namespace
}  // namespace tenon::test
