// The one rewrite that changes a result is named by number and rule, with the switch that turns it off.
#include "verify/rewrites.h"

#include "ir/ops/linear.h"
#include "tests/verify/suspects.h"

namespace tenon {
namespace {

using namespace testing;

class Rewrites : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> imported = imported_graph(residual_net);
  std::vector<Inputs> samples = {inputs_for(*imported, 2, 1), inputs_for(*imported, 3, 2)};
};

TEST_F(Rewrites, NoneIsNamedWhereAllAreRight) {
  const RewriteSearch search = search_rewrites({.imported = *imported}, samples, {});
  EXPECT_FALSE(search.wrong);
  EXPECT_FALSE(search.without_any);
}

TEST_F(Rewrites, TheWrongOneIsNamed) {
  const std::vector<Pass> passes = pipeline_with_wrong_rule();
  const RewriteSearch search = search_rewrites({.imported = *imported, .passes = passes}, samples, {});
  ASSERT_TRUE(search.wrong);
  const WrongRewrite& wrong = *search.wrong;
  EXPECT_EQ(wrong.rewrite.rule, "silu_is_relu");
  EXPECT_EQ(wrong.rewrite.pass, "wrong");
  EXPECT_EQ(wrong.rewrite.location, "act");
  EXPECT_GT(wrong.rewrites, wrong.rewrite.number);
  EXPECT_TRUE(wrong.right_when_off);
  EXPECT_LT(wrong.before.relative(), 1e-5);
  EXPECT_GT(wrong.difference.relative(), 1e-3);
}

// A kernel that is wrong whatever is fused is no rewrite's fault.
TEST_F(Rewrites, AWrongKernelIsNotBlamedOnARewrite) {
  const RewriteSearch search =
      search_rewrites({.imported = *imported, .device = device_with_wrong<Linear>()}, samples, {});
  EXPECT_FALSE(search.wrong);
  EXPECT_TRUE(search.without_any);
}

TEST_F(Rewrites, OptionsOfTheUserHold) {
  const std::vector<Pass> passes = pipeline_with_wrong_rule();
  EXPECT_FALSE(
      search_rewrites({.imported = *imported, .options = {.off = {"silu_is_relu"}}, .passes = passes},
                      samples, {})
          .wrong);
}

}  // namespace
}  // namespace tenon
