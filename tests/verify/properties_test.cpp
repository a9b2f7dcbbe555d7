// Properties hold for right kernels, are broken by wrong ones, and do not apply to models that mix rows.
#include "verify/properties.h"

#include "ir/ops/conv.h"
#include "ir/ops/linear.h"
#include "tests/verify/suspects.h"

namespace tenon {
namespace {

using namespace testing;
using Outcome = Property::Outcome;

std::vector<Property> properties_of(const std::string& text, PropertyOptions options = {}) {
  const auto imported = imported_graph(text);
  std::vector<Inputs> samples;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) samples.push_back(inputs_for(*imported, 1, seed));
  return check_properties(*fused_graph(*imported), *imported, samples, options);
}

const Property& find(const std::vector<Property>& all, std::string_view name) {
  return *std::find_if(all.begin(), all.end(), [&](const Property& p) { return p.name == name; });
}

TEST(Properties, HoldForANetwork) {
  for (const Property& p : properties_of(residual_net)) {
    EXPECT_TRUE(p.ok()) << p.name << ": " << p.detail;
    EXPECT_NE(p.outcome, Outcome::not_applicable) << p.name << ": " << p.detail;
  }
}

// The wrong kernel spoils the first row alone: a permuted batch shows it, and the node is named.
TEST(Properties, AKernelThatTreatsRowsDifferentlyIsCaught) {
  const auto found = properties_of(residual_net, {.device = device_with_wrong<Linear>()});
  EXPECT_EQ(find(found, "run twice").outcome, Outcome::identical);
  for (const char* name : {"identical rows", "permuted rows"}) {
    const Property& p = find(found, name);
    EXPECT_EQ(p.outcome, Outcome::broken) << name;
    EXPECT_NE(p.detail.find("linear"), std::string::npos) << p.detail;
    EXPECT_NE(p.detail.find("fc"), std::string::npos) << p.detail;
  }
}

TEST(Properties, DoNotApplyToAModelThatMixesRows) {
  const auto found = properties_of(R"(graph centred(%x: f32[N,8]) {
  %1 = mean(%x, axes=[0], keepdim=true) : f32[1,8] # centre
  %2 = sub(%x, %1) : f32[N,8] # centre
  return %2
}
)");
  for (const char* name : {"permuted rows", "identical rows", "run twice"})
    EXPECT_TRUE(find(found, name).ok());
  const Property& nan = find(found, "NaN in one row");
  EXPECT_EQ(nan.outcome, Outcome::not_applicable);
  EXPECT_NE(nan.detail.find("mixes rows"), std::string::npos) << nan.detail;
}

// The first row decides how often the loop runs and which branch is taken: runs with other rows visit other
// nodes.
TEST(Properties, DoNotApplyToAModelWhoseRowsDecideWhatRuns) {
  const auto found = properties_of(R"(graph search(%x: f32[N,3]) {
  %1 = slice(%x, end=1) : f32[1,3]
  %2 = sum(%1, axes=[0,1]) : f32[]
  %3 = greater(%2, -3.0) : bool[]
  %4 = loop(%3, %x, carried=1) (%i: i64[], %y: f32[N,3]) {
    %5 = equal(%i, 1) : bool[]
    %6 = if(%5, %y) (%a: f32[N,3]) {
      %7 = sub(%a, 0.0625) : f32[N,3]
      return %7
    } (%b: f32[N,3]) {
      %8 = sub(%b, 0.03125) : f32[N,3]
      return %8
    } : f32[N,3]
    %10 = slice(%6, end=1) : f32[1,3]
    %11 = sum(%10, axes=[0,1]) : f32[]
    %12 = greater(%11, -3.0) : bool[]
    return %12, %6
  } : f32[N,3]
  return %4
}
)");
  const Property& permuted = find(found, "permuted rows");
  EXPECT_EQ(permuted.outcome, Outcome::not_applicable) << permuted.detail;
  EXPECT_NE(permuted.detail.find("mixes rows"), std::string::npos) << permuted.detail;
}

TEST(Properties, NeedRows) {
  const auto fixed = properties_of(R"(graph fixed(%x: f32[1,8]) {
  %1 = relu(%x) : f32[1,8]
  return %1
}
)");
  EXPECT_EQ(find(fixed, "permuted rows").outcome, Outcome::not_applicable);
  EXPECT_NE(find(fixed, "permuted rows").detail.find("fixed at 1"), std::string::npos);
  const auto pairs = properties_of(R"(graph pairs(%x: f32[N,8], %a: f32[N,N]) {
  %1 = matmul(%a, %x) : f32[N,8]
  return %1
}
)");
  EXPECT_NE(find(pairs, "permuted rows").detail.find("axis 1 of the input a"), std::string::npos);
  const auto whole = properties_of(R"(graph integers(%x: i64[N,8]) {
  %1 = add(%x, 1) : i64[N,8]
  return %1
}
)");
  EXPECT_EQ(find(whole, "permuted rows").outcome, Outcome::identical);
  EXPECT_EQ(find(whole, "NaN in one row").outcome, Outcome::not_applicable);
}

}  // namespace
}  // namespace tenon
