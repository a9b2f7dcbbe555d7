// What every definition promises to the tables made from it, and the interpreter to its callers.
#include <algorithm>
#include <set>

#include "ir/bind.h"
#include "ir/build.h"
#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

TEST(Definitions, HaveUniqueNames) {
  std::set<std::string_view> names;
  for (const OpInfo* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(find_op(op->name), op);
  }
  EXPECT_EQ(find_op("frobnicate"), nullptr);
}

TEST(Definitions, KeepEveryAttributeThroughItsTextForm) {
  for (const OpInfo* op : all_ops()) {
    const Op defaults = op->make();
    EXPECT_TRUE(defaults.attributes().empty()) << op->name;
    std::set<std::string_view> names;
    std::vector<std::pair<std::string, Attr>> same;
    for (const FieldInfo& f : op->fields) {
      EXPECT_TRUE(names.insert(f.name).second) << op->name << " " << f.name;
      same.emplace_back(f.name, f.get(defaults.self()));
    }
    EXPECT_EQ(defaults.with(same), defaults) << op->name;
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(", ", at), list.size());
    parts.push_back(list.substr(at, comma - at));
    at = comma + 2;
  }
  return parts;
}

// "name(operand, ..., attribute=argument, ...)"
TEST(Definitions, MapNamesOfOtherFrameworksToTheirOwn) {
  for (const OpInfo* op : all_ops())
    for (const Mapping& mapping : op->from) {
      const std::string text(mapping.signature);
      const auto open = text.find('(');
      ASSERT_TRUE(open != std::string::npos && open > 0 && text.back() == ')') << text;
      int operands = 0;
      for (const std::string& part : split(text.substr(open + 1, text.size() - open - 2))) {
        const auto equals = part.find('=');
        if (equals == std::string::npos) {
          ++operands;
          continue;
        }
        const auto named = [&](const FieldInfo& f) { return f.name == part.substr(0, equals); };
        EXPECT_TRUE(std::any_of(op->fields.begin(), op->fields.end(), named)) << text;
      }
      const bool any_number = op->max_inputs < 0;
      EXPECT_GE(operands, any_number ? 1 : op->min_inputs) << text;
      EXPECT_TRUE(any_number || operands <= op->max_inputs) << text;
    }
}

TEST(Emit, GivesEveryPrimitiveItsOperator) {
  for (const PrimInfo& row : prim_table) {
    Graph graph;
    const InsertionPoint point{&graph.body()};
    std::vector<Ref> operands;
    std::vector<Expr> args;
    for (int i = 0; i < row.arity; ++i) {
      const bool condition = row.kind == PrimKind::select && i == 0;
      const DType dtype = condition ? DType::boolean : row.kind == PrimKind::bits ? DType::i64 : DType::f32;
      operands.emplace_back(graph.body().add_parameter({dtype, {}}), point);
      args.push_back(Expr::input(i));
    }
    const Expr e = row.prim == Prim::cast ? cast(DType::f16, args[0]) : Expr::of(row.prim, args);
    const Ref result = emit(e, operands);
    ASSERT_TRUE(result.value()->node()) << row.name;
    const Expr back = expr_of(result.value()->node()->op());
    EXPECT_EQ(back.node().prim, row.prim) << row.name;
    EXPECT_EQ(back.node().args.size(), static_cast<std::size_t>(row.arity)) << row.name;
  }
}

// What fusion puts into one loop: pointwise operators, and reductions of the rows that the operator names.
TEST(Definitions, OperatorsOnRowsAreMadeOfReductionsOfTheirRows) {
  int seen = 0;
  for (const OpInfo* info : all_ops()) {
    if (!info->row_axes || !info->decompose) continue;
    ++seen;
    Graph graph;
    const InsertionPoint point{&graph.body()};
    const Op op = info->make();
    const Ref x(graph.body().add_parameter({DType::f32, {2, 3, 4}}), point);
    info->decompose(op.self(), std::vector{x});
    int reductions = 0;
    for (const auto& node : graph.body().nodes()) {
      const auto reduction = reduction_of(node->op());
      EXPECT_TRUE(reduction || node->op().is_pointwise()) << info->name << ": " << node->op().name();
      if (!reduction) continue;
      ++reductions;
      EXPECT_EQ(reduction->axes, info->row_axes(op.self(), 3)) << info->name;
    }
    EXPECT_GT(reductions, 0) << info->name;
  }
  EXPECT_GE(seen, 4);
}

TEST(Evaluate, BindsSymbolsFromTheInputs) {
  const auto graph = parse(R"(graph g(%x: f32[2*N+1,seq], %y: f32[N]) where N in 2..8 {
  %1 = reshape(%x, shape=[seq,2*N+1]) : f32[seq,2*N+1]
  return %1
})");
  const auto out = evaluate(*graph, std::vector{tensor("f32[5,2] 0"), tensor("f32[2] 0")});
  EXPECT_EQ(out[0].type_string(), "f32[2,5]");
  const auto message = [&](const std::vector<Tensor>& inputs) {
    try {
      evaluate(*graph, inputs);
    } catch (const Error& e) { return e.message(); }
    return std::string("no error");
  };
  EXPECT_EQ(message({tensor("f32[6,2] 0"), tensor("f32[2] 0")}),
            "input x has shape [6,2], the graph expects [2*N+1,seq]: dim 0 is 6, not 5 (N is 2)");
  EXPECT_EQ(message({tensor("f32[5] 0"), tensor("f32[2] 0")}),
            "input x has shape [5], the graph expects [2*N+1,seq]: its rank is 1, not 2");
  EXPECT_EQ(message({tensor("f32[19,2] 0"), tensor("f32[9] 0")}), "N is 9, the graph allows 2 to 8");
  EXPECT_EQ(message({tensor("f64[5,2] 0"), tensor("f32[2] 0")}),
            "input x is f64[5,2], the graph expects f32[2*N+1,seq]");
  EXPECT_EQ(message({tensor("f32[5,2] 0")}), "1 input is given, the graph has 2");
}

TEST(Evaluate, ShowsEachNodeToTheObserver) {
  const auto graph = parse(R"(graph g(%x: f32[2]) {
  %1 = neg(%x) : f32[2]
  %2 = fused { relu(%1); add(_, %x) } : f32[2]
  return %2
})");
  std::vector<std::string> seen;
  const auto out =
      evaluate(*graph, std::vector{tensor("f32[2] 1 -2")}, [&](const Node& n, std::span<const Tensor> t) {
        seen.push_back(fmt::format("{} {}", n.op().name(), t[0].get_double(std::vector<std::int64_t>{1})));
      });
  EXPECT_EQ(seen, (std::vector<std::string>{"neg 2", "relu 2", "add 0", "fused 0"}));
  expect_near(out[0], tensor("f32[2] 1 0"), 0, "fused");
}

TEST(Evaluate, FreesTensorsAfterTheirLastUse) {
  const auto graph = parse(R"(graph g(%x: f32[2]) {
  %1 = neg(%x) : f32[2]
  %2 = relu(%1) : f32[2]
  %3 = neg(%2) : f32[2]
  return %3
})");
  std::weak_ptr<const Storage> first;
  std::vector<bool> alive;
  evaluate(*graph, std::vector{tensor("f32[2] 1 -2")}, [&](const Node&, std::span<const Tensor> t) {
    if (alive.empty()) first = t[0].storage();
    alive.push_back(!first.expired());
  });
  EXPECT_EQ(alive, (std::vector<bool>{true, true, false}));
}

}  // namespace
}  // namespace tenon::test
