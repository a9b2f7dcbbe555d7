// Steps that one launch runs keep the order that memory gives them.
#include "runtime/joined_steps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenon::testing {
namespace {

// A step that joins with others of its kind, up to so many of them.
class Joining : public Step {
 public:
  explicit Joining(std::vector<std::size_t> of, std::size_t most) : parts(std::move(of)), most_(most) {}
  void run(const Frame&) const override {}
  std::unique_ptr<Step> joined(const Step& other) const override {
    const auto& second = dynamic_cast<const Joining&>(other);
    std::vector<std::size_t> both = parts;
    both.insert(both.end(), second.parts.begin(), second.parts.end());
    const std::size_t most = std::min(most_, second.most_);
    return both.size() <= most ? std::make_unique<Joining>(std::move(both), most) : nullptr;
  }
  const std::vector<std::size_t> parts;

 private:
  std::size_t most_;
};

struct StepRow {
  std::vector<int> reads, writes;  // buffers
  std::size_t most = 8;
};

Plan plan_of(const std::vector<StepRow>& rows) {
  const auto tensors = [](const std::vector<int>& buffers) {
    std::vector<PlannedTensor> list;
    for (const int b : buffers)
      list.emplace_back(static_cast<std::size_t>(b), Strided(DType::f32, {8}, {1}, 0));
    return list;
  };
  Plan plan;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    plan.choices.push_back({.first_step = i, .steps = 1});
    plan.steps.push_back(std::make_unique<Joining>(std::vector{i}, rows[i].most));
    plan.steps.back()->info = {.op = fmt::format("{}", i), .bytes = 1};
    plan.steps.back()->reads = tensors(rows[i].reads);
    plan.steps.back()->writes = tensors(rows[i].writes);
    plan.nodes.push_back(nullptr);
  }
  return plan;
}

const std::vector<std::size_t>& parts(const Step& step) { return dynamic_cast<const Joining&>(step).parts; }

std::string joined(const std::vector<StepRow>& rows) {
  Plan plan = plan_of(rows);
  join_steps(plan);
  std::string text;
  for (const auto& step : plan.steps)
    text += fmt::format("{}{}", text.empty() ? "" : " | ", fmt::join(parts(*step), " "));
  return text;
}

TEST(JoinedSteps, StandWhereTheFirstOfThemCould) {
  EXPECT_EQ(joined({{{0}, {1}}, {{2}, {3}}}), "0 1");
  EXPECT_EQ(joined({{{0}, {1}}, {{1}, {2}}}), "0 | 1");
  // A cache of keys and one of values: each is copied, appended to, and rounded.
  EXPECT_EQ(joined({{{0}, {1}}, {{1}, {2}}, {{3}, {4}}, {{4}, {5}}}), "0 2 | 1 3");
}

TEST(JoinedSteps, ComeAfterAllThatTheyTouch) {
  const StepRow alone{{9}, {1}, 1};
  EXPECT_EQ(joined({{{0}, {2}}, alone, {{1}, {3}}}), "0 | 1 | 2");          // what is written before
  EXPECT_EQ(joined({{{0}, {2}}, {{1}, {5}, 1}, {{0}, {1}}}), "0 | 1 | 2");  // what is read before
  EXPECT_EQ(joined({{{0}, {2}}, alone, {{0}, {3}}}), "0 2 | 1");
}

TEST(JoinedSteps, TakeTheirChoicesAlong) {
  Plan plan = plan_of({{{0}, {1}}, {{0}, {2}, 1}, {{0}, {3}}});
  join_steps(plan);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.nodes.size(), 2u);
  EXPECT_EQ(plan.steps[0]->info.op, "0, 2");
  EXPECT_EQ(plan.steps[0]->info.bytes, 2);
  EXPECT_EQ(plan.steps[0]->writes.size(), 2u);
  EXPECT_EQ(plan.choices[0].steps, 1u);
  EXPECT_EQ(plan.choices[1].first_step, 1u);
  EXPECT_EQ(plan.choices[2].steps, 0u);
  EXPECT_EQ(plan.choices[2].joined, 0u);
  EXPECT_EQ(plan.choices[1].joined, std::nullopt);
}

TEST(JoinedSteps, OfRandomPlansKeepTheOrder) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto some = [&] {
      std::vector<int> buffers(random() % 3);
      for (int& b : buffers) b = static_cast<int>(random() % 12);
      return buffers;
    };
    std::vector<StepRow> rows(30);
    for (StepRow& row : rows) row = {some(), some(), 1 + random() % 4};
    const Plan before = plan_of(rows);
    Plan after = plan_of(rows);
    join_steps(after);
    std::vector<std::size_t> runs_at(rows.size(), rows.size());
    for (std::size_t i = 0; i < after.steps.size(); ++i)
      for (const std::size_t part : parts(*after.steps[i])) {
        EXPECT_EQ(runs_at[part], rows.size()) << "twice";
        runs_at[part] = i;
        const Choice& choice = after.choices[part];
        EXPECT_EQ(choice.joined.value_or(choice.first_step), i);
      }
    for (const std::size_t at : runs_at) EXPECT_LT(at, after.steps.size());
    for (const Dependency& d : dependencies(before.steps)) EXPECT_LT(runs_at[d.on], runs_at[d.step]) << seed;
  }
}

}  // namespace
}  // namespace tenon::testing
