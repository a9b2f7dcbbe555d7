// What a device has no kernel for is said of the whole graph at once, before anything is compiled.
#include "runtime/refusal.h"

#include "ir/clone.h"
#include "ir/data_size.h"
#include "ir/ops/arithmetic.h"
#include "runtime/planner.h"
#include "runtime/stages.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

int compiled = 0;

class CountingStep : public Step {
 public:
  void run(const Frame&) const override {}
  void compile() override { ++compiled; }
};

void emit_counting(Planner& planner, const Group& group) {
  const Value* out = group.node().output();
  const PlannedTensor to =
      planner.assignment().assign(out, row_major(out->rank()), [](const PlannedTensor&) { return true; });
  planner.emit(std::make_unique<CountingStep>(), group.node(), {}, {to});
}

std::vector<Candidate> lower_counting(const Planner&, const Group&) {
  return {{{.kernel = "counting"}, emit_counting}};
}

// The CPU with kernels of `abs` alone, and of what control flow needs.
const Device& poor_device() {
  static const std::vector<OpLowering> lowerings = [] {
    std::vector<OpLowering> list{{&op_info<Abs>(), lower_counting}};
    for (const OpLowering& l : cpu_device().lowerings)
      if (l.op->regions > 0 && l.op->name != "fused") list.push_back(l);
    return list;
  }();
  static const Device device = [] {
    Device d = cpu_device();
    d.name = "poor";
    d.lowerings = lowerings;
    d.general = d.general.first(1);  // views
    d.sized = {};
    return d;
  }();
  return device;
}

std::string refusal_of(std::string_view text, const Bindings& sizes) {
  OpenDevice device(poor_device(), 1);
  compiled = 0;
  try {
    auto graph = specialize(*graph_of(text), sizes);
    gives_sizes(graph->body()) ? void(plan_stages(std::move(graph), device))
                               : void(Planner(std::move(graph), device).plan());
  } catch (const Error& e) { return e.message(); }
  return "";
}

TEST(Refusals, AreOneListOverAllBranches) {
  EXPECT_EQ(refusal_of(R"(graph g(%go: bool[], %x: f32[N]) {
  %1 = abs(%x) : f32[N]
  %2 = if(%go, %1) (%a: f32[N]) {
    %3 = abs(%a) : f32[N]
    %4 = exp(%3) : f32[N]
    return %4
  } (%b: f32[N]) {
    %3 = erf(%b) : f32[N]
    return %3
  } : f32[N]
  %5 = cumsum(%2) : f32[N]
  return %5
}
)",
                       {{"N", 4}}),
            "poor has no kernel for 3 operators:\n  exp -> f32[4]\n  erf -> f32[4]\n  cumsum -> f32[4]");
  EXPECT_EQ(compiled, 0);
}

TEST(Refusals, AreThereBeforeTheFirstStageOfAGraphThatGivesSizesRuns) {
  EXPECT_EQ(refusal_of(R"(graph g(%x: f32[N]) {
  %1 = abs(%x) : f32[N]
  %2 = nonzero(%1, count=?0) : i64[?0,1]
  %3 = reshape(%2, shape=?0) : i64[?0]
  %4 = cumsum(%3) : i64[?0]
  return %4
}
)",
                       {{"N", 4}}),
            "poor has no kernel for 2 operators:\n  nonzero -> i64[?0,1]\n  cumsum -> i64[?0]");
}

}  // namespace
}  // namespace tenon::testing
