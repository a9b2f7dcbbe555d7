// Weights that are views of one storage: each reader gets the packed form of its own view.
#include <fmt/format.h>

#include "ir/print.h"
#include "runtime/device.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

using View = Tensor (*)(const Tensor& base);

std::string sizes(const Tensor& t) { return fmt::format("f32[{}]", fmt::join(t.shape(), ",")); }

// Two operators in one graph, each with its own view of the base as weight and an input of its own.
void expect_each_its_own(const std::string& first, const std::string& second, const Tensor& a,
                         const Tensor& b, const Index& x, const Index& y) {
  SCOPED_TRACE(fmt::format("{} of {} and {} of {}", first, sizes(a), second, sizes(b)));
  const auto outputs = [&](const std::string& operators) {
    return fmt::format("graph g(%x: f32[{}], %y: f32[{}]) {{\n  @a : {}\n  @b : {}\n{}\n}}\n",
                       fmt::join(x, ","), fmt::join(y, ","), sizes(a), sizes(b), operators);
  };
  const auto graph = std::shared_ptr<Graph>(
      parse(outputs(fmt::format("  %1 = {}\n  %2 = {}\n  return %1, %2", first, second))));
  graph->set_weight_data(graph->weights()[0].get(), a);
  graph->set_weight_data(graph->weights()[1].get(), b);
  const auto inputs = inputs_of(*graph, {});
  const auto expected = evaluate(*graph, inputs);
  const auto got = Session(graph).run(inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(got[i], expected[i]);
}

const std::vector<View>& views_of_kernels() {
  static const std::vector<View> views = {
      [](const Tensor& t) { return t; },
      [](const Tensor& t) {
        return t.permute(Index{1, 0, 2, 3});
      },
      [](const Tensor& t) {
        return t.permute(Index{0, 1, 3, 2});
      },
      [](const Tensor& t) { return t.slice(1, 0, 4); },
      [](const Tensor& t) { return t.slice(0, 0, 4); },
      [](const Tensor& t) { return t.slice(0, 0, 16, 2); },
      [](const Tensor& t) { return t.slice(2, 0, 1).slice(3, 0, 1); },
      [](const Tensor& t) { return t.slice(0, 0, 4).slice(2, 0, 1).slice(3, 0, 1); },
      [](const Tensor& t) {
        return t.slice(0, 0, 1).expand({16, 16, 3, 3});
      },
      [](const Tensor& t) {
        return t.slice(1, 0, 1).expand({16, 16, 3, 3});
      },
      [](const Tensor& t) {
        return t.slice(2, 0, 1).expand({16, 16, 3, 3});
      },
      [](const Tensor& t) {
        return t.slice(0, 1, 2).expand({16, 16, 3, 3});
      },
  };
  return views;
}

std::string conv(const char* x, const char* w, const Tensor& weight) {
  const auto& s = weight.shape();
  return fmt::format("conv({}, {}, pad=1) : f32[1,{},{},{}]", x, w, s[0], 10 - s[2], 10 - s[3]);
}

std::string conv_transpose(const char* x, const char* w, const Tensor& weight, int stride, int dilation) {
  const auto& s = weight.shape();
  const auto out = [&](std::int64_t kernel) { return 6 * stride + dilation * (kernel - 1) + 1; };
  return fmt::format("conv_transpose({}, {}, stride={}, dilation={}) : f32[1,{},{},{}]", x, w, stride,
                     dilation, s[1], out(s[2]), out(s[3]));
}

TEST(WeightStore, ConvolutionsOfViewsOfOneStorage) {
  const Tensor base = random_tensor(DType::f32, {16, 16, 3, 3}, 7);
  for (const View first : views_of_kernels())
    for (const View second : views_of_kernels()) {
      const Tensor a = first(base), b = second(base);
      expect_each_its_own(conv("%x", "@a", a), conv("%y", "@b", b), a, b, {1, a.shape()[1], 7, 7},
                          {1, b.shape()[1], 7, 7});
    }
}

TEST(WeightStore, TransposedConvolutionsOfViewsOfOneStorage) {
  const Tensor base = random_tensor(DType::f32, {16, 16, 3, 3}, 7);
  for (const View first : views_of_kernels())
    for (const int stride : {1, 2})
      for (const int dilation : {1, 2}) {
        const Tensor a = base, b = first(base);
        expect_each_its_own(conv_transpose("%x", "@a", a, 1, 1),
                            conv_transpose("%y", "@b", b, stride, dilation), a, b, {1, 16, 7, 7},
                            {1, b.shape()[0], 7, 7});
      }
}

TEST(WeightStore, GroupsOfOneWeight) {
  const Tensor base = random_tensor(DType::f32, {16, 4, 3, 3}, 7);
  expect_each_its_own("conv(%x, @a, groups=4, pad=1) : f32[1,16,7,7]", "conv(%y, @b, pad=1) : f32[1,16,7,7]",
                      base, base, {1, 16, 7, 7}, {1, 4, 7, 7});
}

TEST(WeightStore, ProductsOfViewsOfOneStorage) {
  const Tensor base = random_tensor(DType::f32, {16, 16}, 7);
  const std::vector<View> views = {
      [](const Tensor& t) { return t; },
      [](const Tensor& t) {
        return t.permute(Index{1, 0});
      },
      [](const Tensor& t) { return t.slice(0, 0, 8); },
      [](const Tensor& t) { return t.slice(1, 0, 8); },
      [](const Tensor& t) { return t.slice(0, 0, 16, 2); },
      [](const Tensor& t) {
        return t.slice(0, 0, 1).expand({16, 16});
      },
      [](const Tensor& t) {
        return t.slice(1, 0, 1).expand({16, 16});
      },
      [](const Tensor& t) {
        return t.reshape({8, 32});
      },
      [](const Tensor& t) { return t.slice(0, 0, 1); },
      [](const Tensor& t) { return t.slice(1, 0, 1); },
  };
  const auto linear = [](const char* x, const char* w, const Tensor& t) {
    return fmt::format("linear({}, {}) : f32[3,{}]", x, w, t.shape()[0]);
  };
  const auto matmul = [](const char* x, const char* w, const Tensor& t) {
    return fmt::format("matmul({}, {}) : f32[3,{}]", x, w, t.shape()[1]);
  };
  for (const View first : views)
    for (const View second : views) {
      const Tensor a = first(base), b = second(base);
      expect_each_its_own(linear("%x", "@a", a), linear("%y", "@b", b), a, b, {3, a.shape()[1]},
                          {3, b.shape()[1]});
      expect_each_its_own(linear("%x", "@a", a), matmul("%y", "@b", b), a, b, {3, a.shape()[1]},
                          {3, b.shape()[0]});
    }
}

TEST(WeightStore, OneFormOfOneViewIsPackedOnce) {
  const auto graph = graph_of(R"(graph g(%x: f32[3,16]) {
  @w : f32[16,16]
  %1 = linear(%x, @w) : f32[3,16]
  %2 = permute(@w, axes=[1,0]) : f32[16,16]
  %3 = matmul(%1, %2) : f32[3,16]
  return %3
}
)");
  Session session(graph);
  session.run(inputs_of(*graph, {}));
  const auto alone = graph_of(R"(graph g(%x: f32[3,16]) {
  @w : f32[16,16]
  %1 = linear(%x, @w) : f32[3,16]
  return %1
}
)");
  Session once(alone);
  once.run(inputs_of(*alone, {}));
  EXPECT_EQ(session.packed_bytes(), once.packed_bytes());
}

TEST(WeightStore, WeightsOf16BitsArePackedIn16Bits) {
  for (const char* dtype : {"f16", "bf16"})
    for (const char* node : {"linear(%x, @w)", "conv(%x, @w)"}) {
      const bool is_conv = std::string_view(node).starts_with("conv");
      const char *x = is_conv ? "[1,64,5,5]" : "[3,64]", *w = is_conv ? "[64,64,1,1]" : "[64,64]";
      const auto graph = graph_of(
          fmt::format("graph g(%x: {0}{1}) {{\n  @w : {0}{2}\n  %1 = {3} : {0}{1}\n  return %1\n}}\n", dtype,
                      x, w, node));
      SCOPED_TRACE(print(*graph));
      Session session(graph, {.device = &cpu_device()});
      session.run(inputs_of(*graph, {}));
      EXPECT_EQ(session.packed_bytes(), 64 * 64 * 2);
    }
}

}  // namespace
}  // namespace tenon::testing
