// The text form: what prints parses back to the same text, and what is wrong is said with its place.
#include <gtest/gtest.h>

#include "ir/clone.h"
#include "ir/graph.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tenon {
namespace {

std::string round_trip(const std::string& text) {
  const auto graph = parse(text);
  verify(*graph);
  const std::string again = print(*graph);
  const auto copy = clone(*graph);
  verify(*copy);
  EXPECT_EQ(print(*copy), again);
  return again;
}

TEST(Text, ReadsBackWhatItPrints) {
  const std::string texts[] = {
      R"(graph empty() {
  return
}
)",
      R"(graph mlp(%x: f32[N,784]) {
  @fc.bias : f32[784]
  %1 = add(%x, @fc.bias) : f32[N,784]  # fc
  %2 = relu(%1) : f32[N,784]  # act
  return %2
}
)",
      R"(graph literals(%x: f32[2], %n: i64[]) {
  %1 = mul(%x, 0.5) : f32[2]
  %2 = leaky_relu(%1, slope=0.2) : f32[2]
  %3 = add(2, %n) : i64[]
  %4 = maximum(-inf:f32, 1e-05:f32) : f32[]
  return %2 as "y", %3 as "count", %4 as "odd name"
}
)",
      R"(graph fused_chain(%x: f32[N,4], %r: f32[N,4]) {
  @b : f32[4]
  %1 = fused { add(%x, @b); gelu(_, approximate="tanh"); add(_, %r); relu } : f32[N,4]  # layer.{fc,act,add}
  return %1
}
)",
      R"(graph fused_diamond(%x: f32[N,4]) {
  %1, %2 = fused { %1.1 = mul(%x, 2.0); sigmoid(%1.1); %1.3 = mul(%1.1, _); return %1.1, %1.3 } : f32[N,4], f32[N,4]
  return %1, %2
}
)",
      R"(graph strings(%x: string[N]) {
  @words : string[2]
  %1 = concat(%x, @words) : string[N+2]
  %2 = equal(%1, "a \"quoted\" \\ line\n") : bool[N+2]
  %3 = where(%2, "日本", %1) : string[N+2]
  %4 = concat_strings("", "b") : string[]
  return %3, %4, "c"
}
)",
      R"(graph symbols(%x: f32[N,2*seq+1]) where N in 1..64 "dim 0 of x", seq in 2.. {
  %1 = relu(%x) : f32[N,2*seq+1]
  return %1
}
)",
  };
  for (const std::string& text : texts) EXPECT_EQ(round_trip(text), text);
}

TEST(Text, QuotesNamesThatAreNoWords) {
  const std::string text =
      "graph \"a b\"(%\"in-0\": f32[2]) {\n  %1 = relu(%\"in-0\") : f32[2]\n  return %1\n}\n";
  EXPECT_EQ(round_trip(text), text);
}

TEST(Text, StringsKeepTheirControlCharacters) {
  const std::string text =
      "graph g(%x: string[N]) {\n  %1 = equal(%x, \"\\n\\t\\x1b]0;\\x07\\x7f\\xc2\\x9b\\xe2\\x80\\xae\") : "
      "bool[N]\n  return %1\n}\n";
  EXPECT_EQ(round_trip(text), text);
  EXPECT_THROW(parse("graph g(%x: string[N]) {\n  %1 = equal(%x, \"\\x1\") : bool[N]\n  return %1\n}\n"),
               Error);
}

TEST(Text, NamesHoldNoneHoweverTheyCame) {
  Graph graph;
  Value* x = graph.body().add_parameter(Type{DType::f32, {}}, "x\n\033[2J");
  Value* w = graph.add_weight("w\r", Tensor::zeros(DType::f32, {}));
  EXPECT_EQ(x->name(), R"(x\u000a\u001b[2J)");
  EXPECT_EQ(w->name(), R"(w\u000d)");
  EXPECT_EQ(graph.find_weight("w\r"), w);
  graph.output_names = {"y\n"};
  EXPECT_EQ(output_name(graph, 0), R"(y\u000a)");
  EXPECT_EQ((Source{.modules = {"a\nb"}, .file = "n\n.py", .line = 3}.str()), R"(a\u000ab (n\u000a.py:3))");
}

struct Wrong {
  const char* text;
  const char* where;
  const char* message;
};

TEST(Text, SaysWhatIsWrongAndWhere) {
  const Wrong cases[] = {
      {"", "line 1, column 1", "'graph' is expected here"},
      {"graph g(%x: f32[2]) {\n  return %y\n}", "line 2", "%y is not defined above"},
      {"graph g(%x: f32[2]) {\n  return %x as \"y\", %x as \"y\"\n}", "line 2, column 27",
       "two results are named \"y\""},
      {"graph g(%x: f32[2]) {\n  %1 = frob(%x) : f32[2]\n  return %1\n}", "line 2, column 8",
       "there is no operator 'frob'"},
      {"graph g(%x: f32[2]) {\n  %1 = relu(%x) : f32[3]\n  return %1\n}", "line 2",
       "%1 is written as f32[3] but relu gives f32[2]"},
      {"graph g(%x: f32[2]) {\n  %1 = relu(%x, slope=1) : f32[2]", "line 2", "relu has no attribute 'slope'"},
      {"graph g(%x: f32[2], %y: i64[2]) {\n  %1 = add(%x, %y) : f32[2]", "line 2",
       "add: add takes operands of one dtype, not f32 and i64"},
      {"graph g(%x: f32[2]) {\n  %1 = add(%x, @w) : f32[2]", "line 2", "weight @w is not declared"},
      {"graph g(%x: f32[2], %x: f32[2]) {", "line 1", "%x is defined twice"},
      {"graph g(%x: q32[2]) {", "line 1", "'q32' is not a dtype"},
      {"graph g(%x: f32[2]) {\n  %1 = fused relu(%x) { loop(true, _) } : f32[2]", "line 2",
       "a fused body holds no loop"},
      {"graph g(%x: f32[2]) {\n  %1 = fused relu(%x) { loop } : f32[2]", "line 2",
       "a fused body holds no loop"},
      {"graph g(%x: f32[2]) {\n  %1 = fused if(true:bool) { relu } : f32[2]", "line 2",
       "a fused body holds no if"},
      {"graph g(%x: f32[2]) {\n  %1 = fused fused(%x) { relu } : f32[2]", "line 2",
       "a fused body holds no fused"},
      {"graph g(%x: f32[2]) {\n  %1 = relu(%x", "line 2", "the text ends where ',' is expected"},
  };
  for (const Wrong& c : cases) {
    try {
      parse(c.text);
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const Error& e) {
      EXPECT_EQ(e.where().rfind(c.where, 0), 0u) << e.where() << " for " << c.text;
      EXPECT_NE(e.message().find(c.message), std::string::npos) << e.message();
    }
  }
}

TEST(Text, TypesOfResultsMayBeLeftOut) {
  const auto graph = parse("graph g(%x: f32[N,4]) { %1, %2 = sort(%x, axis=1) %3 = relu(%1) return %3, %2 }");
  EXPECT_EQ(graph->body().results()[0]->type().str(), "f32[N,4]");
  EXPECT_EQ(graph->body().results()[1]->type().str(), "i64[N,4]");
}

TEST(Text, ResultsMayBeLiterals) {
  const std::string text =
      "graph g(%x: f32[2]) {\n  return 0.0:f32 as \"zero\", %x as \"x\", true:bool as \"yes\"\n}\n";
  EXPECT_EQ(print(*parse(text)), text);
}

TEST(Text, ASourceNameCannotBreakItsLine) {
  const auto graph = parse("graph g(%x: f32[2]) {\n  %1 = relu(%x) : f32[2]\n  return %1\n}\n");
  graph->body().nodes().front()->source = {{"a\nb"}, "evil\n  %2 = exp(%x)", 3};
  EXPECT_NO_THROW(parse(print(*graph)));
}

TEST(Text, SourceKeepsModulesAndLine) {
  const auto graph =
      parse("graph g(%x: f32[2]) {\n  %1 = relu(%x) : f32[2]  # a.{b,c}, d.e (net.py:12)\n  return %1\n}\n");
  const Source& s = graph->body().nodes().front()->source;
  EXPECT_EQ(s.modules, (std::vector<std::string>{"a.b", "a.c", "d.e"}));
  EXPECT_EQ(s.str(), "a.{b,c}, d.e (net.py:12)");
  EXPECT_NE(print(*graph, {.lines = true}).find("# a.{b,c}, d.e (net.py:12)"), std::string::npos);
}

}  // namespace
}  // namespace tenon
