// Composites against PyTorch's results and against each other.
#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

TEST(Composites, SoftmaxIsShiftedByTheLargest) {
  expect_all({
      {"softmax(%0)", {"f32[2] 1000 1000"}, {"f32[2] 0.5 0.5"}},
      {"softmax(%0)", {"f32[3] -inf 0 0"}, {"f32[3] 0 0.5 0.5"}},
      {"softmax(%0)", {"f32[2] -inf -inf"}, {"f32[2] nan nan"}},
      {"log_softmax(%0)", {"f32[2] 1000 0"}, {"f32[2] 0 -1000"}},
      {"logsumexp(%0, axes=[0])", {"f32[2] 1000 1000"}, {"f32[] 1000.6931"}},
      {"logsumexp(%0, axes=[0])", {"f32[2] -inf -inf"}, {"f32[] -inf"}},
      {"logsumexp(%0, axes=[0])", {"f32[2] inf 0"}, {"f32[] inf"}},
  });
}

TEST(Composites, NormsUseTheBiasedVariance) {
  expect_all({
      {"layer_norm(%0, %1, %2, eps=0.0)", {"f32[1,2] 1 3", "f32[2] 2 2", "f32[2] 5 6"}, {"f32[1,2] 3 8"}},
      {"rms_norm(%0, eps=0.0)", {"f32[1,2] 3 4"}, {"f32[1,2] 0.8485281 1.1313709"}},
      {"group_norm(%0, groups=2, eps=0.0)", {"f32[1,4,1] 1 3 10 30"}, {"f32[1,4,1] -1 1 -1 1"}},
      {"batch_norm(%0, %1, %2, %3, %4, eps=0.0)",
       {"f32[1,2,2] 1 2 3 4", "f32[2] 1 3", "f32[2] 4 1", "f32[2] 2 1", "f32[2] 10 20"},
       {"f32[1,2,2] 10 11 20 21"}},
      {"variance(%0, axes=[0])", {"f32[3] 1 2 3"}, {"f32[] 1"}},
      {"variance(%0, axes=[0], correction=0.0)", {"f32[2] 1 3"}, {"f32[] 1"}},
      {"variance(%0, axes=[0])", {"f32[1] 1"}, {"f32[] nan"}},
  });
}

TEST(Composites, HalvesAreComputedInFloat) {
  // The sum of squares, 4 * 300^2, is beyond f16's largest number.
  expect_all({{"rms_norm(%0, eps=0.0)", {"f16[1,4] 300"}, {"f16[1,4] 1"}},
              {"softmax(%0)", {"f16[3000] 8"}, {"f16[3000] 0.00033331"}}},
             1e-3);
}

const std::vector<std::string> qkv = {"f32[2,1] 1 2", "f32[3,1] 1 0 -1", "f32[3,2] 1 10 2 20 3 30"};

std::vector<std::string> with_mask(const std::string& mask) {
  auto operands = qkv;
  operands.push_back(mask);
  return operands;
}

TEST(Composites, AttentionMatchesPyTorch) {
  expect_all(
      {
          {"attention(%0, %1, %2)", qkv, {"f32[2,2] 1.4247897 14.247897 1.1490629 11.490628"}},
          {"attention(%0, %1, %2, scale=0.0)", qkv, {"f32[2,2] 2 20 2 20"}},
          {"attention(%0, %1, %2, causal=true)", qkv, {"f32[2,2] 1 10 1.1192029 11.192029"}},
          {"attention(%0, %1, %2, %3)",
           with_mask("bool[3] 0 1 1"),
           {"f32[2,2] 2.2689414 22.689414 2.1192029 21.192029"}},
          {"attention(%0, %1, %2, %3)",
           with_mask("f32[2,3] 0 -inf -inf -inf -inf 0"),
           {"f32[2,2] 1 10 3 30"}},
      },
      1e-5);
}

TEST(Composites, AttentionGivesZeroWhereTheMaskKeepsNothing) {
  expect_all({{"attention(%0, %1, %2, %3)", with_mask("bool[2,3] 0 0 0 0 0 1"), {"f32[2,2] 0 0 3 30"}}});
}

TEST(Composites, AttentionOfFewerHeadsIsThatOfRepeatedOnes) {
  const std::string q = "f32[4,1,1] 1 2 1 2", few = "f32[2,2,1] 1 0 3 5", many = "f32[4,2,1] 1 0 1 0 3 5 3 5";
  const auto attended = [&](const std::string& keys) {
    return run("attention(%0, %1, %1)", {q, keys}, {"f32[4,1,1]"})[0];
  };
  expect_near(attended(few), attended(many), 1e-6, "attention");
}

TEST(Composites, TakeSymbolicSizes) {
  const auto graph = graph_of("variance(%0, axes=[1])", {"f32[N,W]"}, {"f32[N]"});
  expect_near(evaluate(*graph, std::vector{tensor("f32[1,3] 1 2 3")})[0], tensor("f32[1] 1"), 1e-6,
              "variance");
  const auto attention =
      graph_of("attention(%0, %1, %2)", {"f32[L,E]", "f32[S,E]", "f32[S,2]"}, {"f32[L,2]"});
  std::vector<Tensor> inputs;
  for (const std::string& text : qkv) inputs.push_back(tensor(text));
  expect_near(evaluate(*attention, inputs)[0], run("attention(%0, %1, %2)", qkv, {"f32[2,2]"})[0], 1e-6,
              "attention");
}

}  // namespace
}  // namespace tenon::test
