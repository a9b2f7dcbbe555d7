// A wrong conversion of a real model is found beside LibTorch's values, at the module where it is.
#include <gtest/gtest.h>

#include "ir/clone.h"
#include "ir/ops/activation.h"
#include "ir/ops/conv.h"
#include "pipeline/model.h"
#include "runtime/inputs.h"
#include "verify/search.h"

namespace tenon {
namespace {

const std::filesystem::path resnet =
    std::filesystem::path(TENON_SOURCE_DIR) / "build/models/tiny/resnet9/model.pt";

class Conversion : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(resnet)) GTEST_SKIP() << "there is no " << resnet;
    model = open_model(resnet);
  }

  Search search(const Graph& imported) const {
    TorchRunner torch(resnet);
    const auto inputs = input_values(imported, {}, 7);
    return search_conversion(imported, ImportedValues(imported, inputs), torch, inputs, "forward", {});
  }

  // The index-th node of operator T.
  template <class T>
  static Node* find(Graph& graph, int index) {
    for (const auto& node : graph.body().nodes())
      if (node->is<T>() && index-- == 0) return node.get();
    return nullptr;
  }

  Model model;
};

TEST_F(Conversion, OfARealModelIsRight) {
  const Search found = search(*model.imported);
  EXPECT_FALSE(found.first) << (found.first ? found.first->what : "");
}

TEST_F(Conversion, AWrongWeightIsFoundAtItsModule) {
  const auto tampered = clone(*model.imported);
  Node* conv = find<Conv>(*tampered, 3);
  Tensor weight = conv->input(1)->tensor().clone();
  weight.set_double(Index(weight.rank(), 0), weight.get_double(Index(weight.rank(), 0)) + 1);
  tampered->set_weight_data(conv->input(1), weight);
  const Search found = search(*tampered);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->location, conv->source.str());
  EXPECT_EQ(found.first->stage, Divergence::Stage::conversion);
}

TEST_F(Conversion, AWrongOperatorIsFoundAtItsModule) {
  const auto tampered = clone(*model.imported);
  Node* relu = find<Relu>(*tampered, 2);
  Node* wrong = tampered->body().insert(Silu{}, {relu->input()}, relu, relu->source);
  replace_all_uses(relu->output(), wrong->output());
  tampered->body().erase(relu);
  const Search found = search(*tampered);
  ASSERT_TRUE(found.first);
  EXPECT_NE(found.first->what.find("silu"), std::string::npos) << found.first->what;
  EXPECT_NE(found.first->location.find(".py:"), std::string::npos) << found.first->location;
}

}  // namespace
}  // namespace tenon
