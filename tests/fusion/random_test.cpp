// Fusing any graph of pointwise operators, reductions and matmuls keeps its results, at every number of
// rewrites.
#include <random>

#include "ir/clone.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

std::string random_text(unsigned seed) {
  std::mt19937 random(seed);
  std::string text = "graph random(%x: f32[N,4], %y: f32[N,4]) {\n  @w : f32[4,4]\n  @b : f32[4]\n";
  std::vector<std::string> names = {"%x", "%y"};
  const auto any = [&] { return names[random() % names.size()]; };
  for (int i = 1; i <= 10; ++i) {
    const std::string calls[] = {
        "add(" + any() + ", @b)",
        "mul(" + any() + ", " + any() + ")",
        "relu(" + any() + ")",
        "linear(" + any() + ", @w)",
        "softmax(" + any() + ", axis=1)",
        "layer_norm(" + any() + ")",
        "mul(" + any() + ", 0.5)",
        "tanh(" + any() + ")",
        "sub(" + any() + ", " + any() + ")",
    };
    text += "  %" + std::to_string(i) + " = " + calls[random() % std::size(calls)] + " : f32[N,4]\n";
    names.push_back("%" + std::to_string(i));
  }
  return text + "  return %10, " + any() + "\n}\n";
}

TEST(RandomFusion, KeepsResults) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(random_text(seed));
    const auto original = graph_with_data(random_text(seed));
    const auto fused = clone(*original);
    const auto total = static_cast<int>(fuse(*fused).rewrites.size());
    expect_equal_results(*original, *fused, 1e-5);
    const auto part = clone(*original);
    fuse(*part, {.stop_after = total / 2});
    expect_equal_results(*original, *part, 1e-5);
  }
}

}  // namespace
}  // namespace tenon::testing
