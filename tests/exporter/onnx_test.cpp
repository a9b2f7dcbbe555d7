// Graphs written as ONNX and read again: they compute the same. ONNX Runtime's word is in
// tests/python/test_export.py.
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/temporary_path.h"
#include "converter/onnx/convert.h"
#include "converter/onnx/load.h"
#include "converter/onnx/onnx.pb.h"
#include "exporter/onnx/export.h"
#include "ir/print.h"
#include "tests/ir/ops/cases.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using converter::onnx::GraphProto;
using exporter::export_onnx;

class File {
 public:
  fs::path path() const { return folder_.path() / "net.onnx"; }

 private:
  TemporaryFolder folder_{fs::temp_directory_path()};
};

converter::onnx::Model written(const Graph& graph) {
  const File file;
  export_onnx(graph, file.path());
  return converter::onnx::load(file.path());
}

std::vector<std::string> kinds(const GraphProto& graph) {
  std::vector<std::string> out;
  for (const auto& n : graph.node()) out.push_back(n.op_type());
  return out;
}

std::string refusal(const Graph& graph) {
  try {
    export_onnx(graph, File().path());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::unsupported);
    return e.message();
  }
  return "none";
}

TEST(Onnx, WhatIsReadAgainComputesTheSame) {
  struct Row {
    std::string call;
    std::vector<std::string> operands, results;
  };
  const std::string x = "f32[2,3] -1.5 0 0.25 1 -0 7", y = "f32[2,3] 2 -3 0.5 -1 4 0.75";
  const std::string i = "i32[4] -7 7 -8 5", j = "i32[4] 3 -3 4 5",
                    image =
                        "f32[1,2,4,4] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 "
                        "15 16 -1 -2 -3 -4 -5 -6 -7 -8 9 8 7 6 5 4 3 2";
  const std::vector<Row> rows = {
      {"add(%0, %1)", {x, y}, {"f32[2,3]"}},
      {"div(%0, %1)", {x, y}, {"f32[2,3]"}},
      {"floor_div(%0, %1)", {x, y}, {"f32[2,3]"}},
      {"floor_div(%0, %1)", {i, j}, {"i32[4]"}},
      {"trunc_div(%0, %1)", {i, j}, {"i32[4]"}},
      {"trunc_div(%0, %1)", {x, y}, {"f32[2,3]"}},
      {"remainder(%0, %1)", {x, y}, {"f32[2,3]"}},
      {"remainder(%0, %1)", {i, j}, {"i32[4]"}},
      {"fmod(%0, %1)", {x, y}, {"f32[2,3]"}},
      {"maximum(%0, %1)", {"i8[2] -128 3", "i8[2] 127 -4"}, {"i8[2]"}},
      {"fmin(%0, %1)", {"f32[2] nan 3", "f32[2] 1 nan"}, {"f32[2]"}},
      {"clamp(%0, min=-1, max=0.5)", {x}, {"f32[2,3]"}},
      {"expm1(%0)", {"f32[4] 1e-7 -1e-7 0.5 20"}, {"f32[4]"}},
      {"log1p(%0)", {"f32[5] 1e-7 -1e-7 0.5 20 inf"}, {"f32[5]"}},
      {"trunc(%0)", {x}, {"f32[2,3]"}},
      {"copysign(%0, %1)", {y, x}, {"f32[2,3]"}},
      {"ldexp(%0, %1)", {x, "f32[2,3] 3 -2 0 1 5 -20"}, {"f32[2,3]"}},
      {"isfinite(%0)", {"f32[3] inf nan 1"}, {"bool[3]"}},
      {"isnan(%0)", {i}, {"bool[4]"}},
      {"logical_and(%0, %1)", {"f32[3] 0 2 2", "f32[3] 1 0 3"}, {"bool[3]"}},
      {"bit_not(%0)", {"bool[2] 0 1"}, {"bool[2]"}},
      {"shift_left(%0, %1)", {"i32[3] 1 -3 5", "i32[3] 3 1 0"}, {"i32[3]"}},
      {"shift_right(%0, %1)", {"i32[4] -9 9 -1 5", "i32[4] 1 1 40 0"}, {"i32[4]"}},
      {"where(%0, %1, %2)", {"bool[2] 0 1", "bool[2] 1 0", "bool[2] 0 1"}, {"bool[2]"}},
      {"gelu(%0, approximate=\"tanh\")", {x}, {"f32[2,3]"}},
      {"elu(%0, scale=2)", {x}, {"f32[2,3]"}},
      {"softplus(%0, beta=2)", {x}, {"f32[2,3]"}},
      {"hardsigmoid(%0)", {x}, {"f32[2,3]"}},
      {"silu(%0)", {x}, {"f32[2,3]"}},
      {"celu(%0, alpha=0.5)", {"f64[2] -1 1"}, {"f64[2]"}},
      {"softmax(%0, axis=1)", {x}, {"f32[2,3]"}},
      {"sum(%0, axes=[0], keepdim=true)", {x}, {"f32[1,3]"}},
      {"sum(%0)", {x}, {"f32[2,3]"}},
      {"mean(%0, axes=[1])", {"f32[2,0]"}, {"f32[2]"}},
      {"any(%0, axes=[1])", {x}, {"bool[2]"}},
      {"all(%0, axes=[1])", {x}, {"bool[2]"}},
      {"variance(%0, axes=[1])", {x}, {"f32[2]"}},
      {"argmax(%0, axis=1)", {y}, {"i64[2]"}},
      {"cumsum(%0, axis=1)", {x}, {"f32[2,3]"}},
      {"sort(%0, axis=1, descending=true)", {y}, {"f32[2,3]", "i64[2,3]"}},
      {"topk(%0, k=2, axis=1, largest=false)", {y}, {"f32[2,2]", "i64[2,2]"}},
      {"pow(%0, 5)", {"i32[2] -7 1000"}, {"i32[2]"}},
      {"search_sorted(%0, %1)", {"f32[4] 1 2 2 3", "f32[] 2"}, {"i64[]"}},
      {"search_sorted(%0, %1, right=true)", {"f32[4] 1 2 2 3", "f32[3] 2 0 nan"}, {"i64[3]"}},
      {"permute(%0, axes=[1,0])", {x}, {"f32[3,2]"}},
      {"slice(%0, axis=1, start=2, end=-1, step=-2)", {x}, {"f32[2,2]"}},
      {"flip(%0, axes=[0,1])", {x}, {"f32[2,3]"}},
      {"pad(%0, pads=[0,1,0,-1], value=9)", {x}, {"f32[2,3]"}},
      {"pad(%0, pads=[0,1,0,2], mode=\"circular\")", {x}, {"f32[2,6]"}},
      {"index_select(%0, %1, axis=1)", {x, "i64[2] 2 0"}, {"f32[2,2]"}},
      {"gather(%0, %1, axis=1)", {x, "i64[2,2] 2 0 1 1"}, {"f32[2,2]"}},
      {"index(%0, %1, %2, axes=[0,1])", {x, "i64[2] 1 -2", "i64[2] 2 0"}, {"f32[2]"}},
      {"index(%0, %1, %2, axes=[0,2])", {"f32[1,2,2] 1 2 3 4", "i64[3] 0", "i64[3] 1 0 1"}, {"f32[3,2]"}},
      {"index_put(%0, %1, %2, %3, axes=[0,1], accumulate=true)",
       {x, "f32[2] 10 20", "i64[2] 1 1", "i64[2] 2 2"},
       {"f32[2,3]"}},
      {"index_add(%0, %1, %2, axis=1)", {x, "i64[2] 2 0", "f32[2,2] 1 2 3 4"}, {"f32[2,3]"}},
      {"index_add(%0, %1, %2, axis=1, from_end=true)", {x, "i64[2] 2 -1", "f32[2,2] 1 2 3 4"}, {"f32[2,3]"}},
      {"scatter(%0, %1, %2, axis=1, reduce=\"sum\")",
       {x, "i64[2,2] 0 0 1 2", "f32[2,3] 1 2 3 4 5 6"},
       {"f32[2,3]"}},
      {"one_hot(%0, classes=3)", {"i64[2] 2 0"}, {"i64[2,3]"}},
      {"linear(%0, %1, %2)",
       {"f32[1,2,3] 1 2 3 4 5 6", "f32[2,3] 1 0 2 0 1 1", "f32[2] 10 20"},
       {"f32[1,2,2]"}},
      {"conv(%0, %1, stride=2, pad=[1,0,0,1])", {image, "f32[1,2,2,2] 1 2 3 4 5 6 7 8"}, {"f32[1,1,2,2]"}},
      {"conv_transpose(%0, %1, stride=2, output_pad=1)",
       {image, "f32[2,1,2,2] 1 2 3 4 5 6 7 8"},
       {"f32[1,1,9,9]"}},
      {"max_pool(%0, kernel=3, stride=2, ceil=true)", {image}, {"f32[1,2,2,2]"}},
      {"max_pool_indices(%0, kernel=2, stride=2)", {image}, {"f32[1,2,2,2]", "i64[1,2,2,2]"}},
      {"avg_pool(%0, kernel=3, stride=2, pad=1, ceil=true)", {image}, {"f32[1,2,3,3]"}},
      {"avg_pool(%0, kernel=2, stride=2, divisor=3)", {image}, {"f32[1,2,2,2]"}},
      {"adaptive_avg_pool(%0, output=[1,1])", {image}, {"f32[1,2,1,1]"}},
      {"adaptive_avg_pool(%0, output=[3,2])", {image}, {"f32[1,2,3,2]"}},
      {"adaptive_max_pool(%0, output=[3,1])", {image}, {"f32[1,2,3,1]"}},
      {"interpolate(%0, output=[8,8])", {image}, {"f32[1,2,8,8]"}},
      {"interpolate(%0, output=[3,5], mode=\"nearest_exact\")", {image}, {"f32[1,2,3,5]"}},
      {"interpolate(%0, output=[8,8], mode=\"nearest_exact\")", {image}, {"f32[1,2,8,8]"}},
      {"interpolate(%0, output=[3,6], mode=\"linear\")", {image}, {"f32[1,2,3,6]"}},
      {"interpolate(%0, output=[7,6], mode=\"cubic\", align_corners=true)", {image}, {"f32[1,2,7,6]"}},
      {"layer_norm(%0, %1)", {x, "f32[3] 1 2 3"}, {"f32[2,3]"}},
      {"layer_norm(%0)", {"f64[2,3] 1 2 3 4 5 7"}, {"f64[2,3]"}},
      {"batch_norm(%0, %1, %2, %3, %4, eps=0.1)",
       {"f64[1,2,2] 1 2 3 4", "f64[2] 1 2", "f64[2] 3 4", "f64[2] 5 6", "f64[2] 7 8"},
       {"f64[1,2,2]"}},
      {"group_norm(%0, %1, %2, groups=2)", {image, "f32[2] 1 2", "f32[2] 3 4"}, {"f32[1,2,4,4]"}},
      {"rms_norm(%0, %1)", {x, "f32[3] 1 2 3"}, {"f32[2,3]"}},
      {"attention(%0, %1, %2, causal=true)", {x, y, "f32[2,2] 1 2 3 4"}, {"f32[2,2]"}},
      {"full(shape=[2,2], value=7, dtype=i64)", {}, {"i64[2,2]"}},
      {"iota(size=4, dtype=f32)", {}, {"f32[4]"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.call);
    const auto graph = test::graph_of(row.call, row.operands, row.results);
    std::vector<Tensor> inputs;
    for (const std::string& text : row.operands) inputs.push_back(test::tensor(text));
    const auto again = converter::onnx::convert(written(*graph), {});
    const auto expected = evaluate(*graph, inputs), actual = evaluate(*again, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k)
      test::expect_near(actual[k], expected[k], 2e-6, row.call);
  }
}

TEST(Onnx, OneToOneOperatorsStayWhole) {
  const auto graph = parse(R"(graph g(%x: f32[N,3,8,8]) {
  @w : f32[4,3,3,3]
  @b : f32[4]
  %1 = fused conv(%x, @w, @b, pad=1) { relu } : f32[N,4,8,8]
  %2 = reshape(%1, shape=[N,256]) : f32[N,256]
  %3 = softmax(%2, axis=1) : f32[N,256]
  return %3 as "scores"
}
)");
  for (const auto& w : graph->weights())
    graph->set_weight_data(w.get(), Tensor::zeros(DType::f32, eval(w->shape(), {})));
  const auto model = written(*graph);
  const GraphProto& read = model.proto->graph();
  EXPECT_EQ(kinds(read), (std::vector<std::string>{"Conv", "Relu", "Reshape", "Softmax"}));
  EXPECT_EQ(read.input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(read.output(0).name(), "scores");
  EXPECT_EQ(read.initializer(0).name(), "w");
}

TEST(Onnx, SizesAreComputed) {
  const auto graph = parse(R"(graph g(%x: f32[2*N+1,M]) {
  %1 = full(shape=[N,M//2+1], value=3) : f32[N,M//2+1]
  %2 = dim_value(value=min(N,M)-M%3) : i64[]
  return %1, %2
}
)");
  const auto again = converter::onnx::convert(written(*graph), {});
  for (const auto& [rows, columns] : {std::pair{3, 5}, {9, 2}, {15, 8}}) {
    const std::vector<Tensor> inputs = {Tensor::zeros(DType::f32, {rows, columns})};
    const auto expected = evaluate(*graph, inputs), actual = evaluate(*again, inputs);
    EXPECT_EQ(actual[0].type_string(), expected[0].type_string());
    EXPECT_EQ(actual[1].get_int(), expected[1].get_int());
  }
}

TEST(Onnx, RegionsAreGraphs) {
  const auto graph = parse(R"(graph g(%go: bool[], %x: f32[3]) {
  %4 = if(%go, %x) (%a: f32[3]) {
    %1 = add(%a, 1.0) : f32[3]
    return %1
  } (%b: f32[3]) {
    return %b
  } : f32[3]
  %7, %8 = loop(true:bool, %4, %x, carried=1, limit=4) (%i: i64[], %c: f32[3], %d: f32[3]) {
    %5 = cast(%i, to=f32) : f32[]
    %6 = add(%c, %5) : f32[3]
    return true:bool, %6, %d
  } : f32[3], f32[4,3]
  return %7, %8
}
)");
  const auto again = converter::onnx::convert(written(*graph), {});
  for (const std::int64_t go : {0, 1}) {
    const std::vector<Tensor> inputs = {Tensor::scalar(DType::boolean, go), test::tensor("f32[3] 1 2 3")};
    const auto expected = evaluate(*graph, inputs), actual = evaluate(*again, inputs);
    for (std::size_t k = 0; k < 2; ++k) test::expect_near(actual[k], expected[k], 0, "a result");
  }
}

TEST(Onnx, NamesAreUniqueAndNotEmpty) {
  Graph graph;
  Value* state = graph.body().add_parameter({DType::f32, {2}}, "state");
  Value* nameless = graph.body().add_parameter({DType::f32, {2}}, "");
  Value* odd = graph.body().add_parameter({DType::f32, {2}}, "a \"b\"\n\xff");
  Value* weight = graph.add_weight("state", test::tensor("f32[2] 1 2"));
  for (Value* v : {weight, nameless, odd, state}) graph.body().add_result(v);
  graph.output_names = {"state", "", "y", "y"};
  const auto model = written(graph);
  const GraphProto& read = model.proto->graph();
  const auto names = [](const auto& list) {
    std::vector<std::string> out;
    for (const auto& each : list) out.push_back(each.name());
    return out;
  };
  EXPECT_EQ(names(read.input()), (std::vector<std::string>{"state", "input", "a \"b\"\\u000a\\xff"}));
  EXPECT_EQ(names(read.output()), (std::vector<std::string>{"state_out", "output", "y", "y_out"}));
  EXPECT_EQ(names(read.initializer()), (std::vector<std::string>{"state_2"}));
}

TEST(Onnx, LargeModelsKeepWeightsBesideThem) {
  const auto graph = parse(
      "graph g(%x: f32[400]) {\n  @w : f32[400]\n  @small : f32[1]\n"
      "  %1 = add(%x, @w) : f32[400]\n  %2 = add(%1, @small) : f32[400]\n  return %2\n}\n");
  for (const auto& w : graph->weights()) {
    Tensor data = Tensor::empty(DType::f32, eval(w->shape(), {}));
    for (std::int64_t k = 0; k < data.numel(); ++k) data.mutable_data<float>()[k] = static_cast<float>(k);
    graph->set_weight_data(w.get(), data);
  }
  const File file;
  const fs::path path = file.path();
  export_onnx(*graph, path, 1000);
  EXPECT_EQ(fs::file_size(path.string() + ".data"), 1600u);
  EXPECT_LT(fs::file_size(path), 1000u);
  const auto again = converter::onnx::convert(converter::onnx::load(path), {});
  const std::vector<Tensor> inputs = {test::tensor("f32[400] 1")};
  test::expect_near(evaluate(*again, inputs)[0], evaluate(*graph, inputs)[0], 0, "the sum");
}

TEST(Onnx, WhatCannotBeWrittenIsListedAtOnce) {
  const auto graph = parse(R"(graph g(%x: f32[3]) {
  %1 = lgamma(%x) : f32[3]  # head (net.py:3)
  %2 = cumprod(%1, axis=0) : f32[3]
  %3 = lgamma(%2) : f32[3]
  return %3
}
)");
  EXPECT_EQ(refusal(*graph),
            "ONNX cannot hold the model:\n"
            "  lgamma: operator set 21 has nothing that computes it (2 times)\n    at head (net.py:3)\n"
            "  cumprod: operator set 21 has nothing that computes it");
}

TEST(Onnx, SomeUsesOfAnOperatorAreRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"graph g(%x: f32[1,1,4], %w: f32[1,1,3]) {\n  %1 = conv_transpose(%x, %w, output_pad=1, dilation=2) : "
       "f32[1,1,9]\n  return %1\n}\n",
       "the output's padding of 1 is not less than the stride 1"},
      {"graph g(%x: f32[1,1,H]) {\n  %1 = adaptive_avg_pool(%x, output=7) : f32[1,1,7]\n  return %1\n}\n",
       "adaptive pooling of H elements into 7"},
      {"graph g(%x: i64[2], %y: i64[1,1,4], %w: i64[1,1,3]) {\n  %1 = conv(%y, %w) : i64[1,1,2]\n  return "
       "%1\n}\n",
       "ONNX's Conv does not take i64"},
      {"graph g(%x: i64[2], %y: i64[2]) {\n  %1 = pow(%x, %y) : i64[2]\n  return %1\n}\n",
       "whole numbers to a power that the model computes"},
      {"graph g(%x: c64[2]) {\n  %1 = real(%x) : f32[2]\n  return %1\n}\n",
       "ONNX's operators do not take complex numbers"},
  };
  for (const auto& [text, reason] : rows)
    EXPECT_NE(refusal(*parse(text)).find(reason), std::string::npos) << text;
}

TEST(Onnx, ChecksAreSaid) {
  const auto graph = parse(
      "graph g(%ok: bool[], %x: f32[2]) {\n  check(%ok, message=\"x must be sorted\")\n"
      "  %1 = exp(%x) : f32[2]\n  return %1\n}\n");
  EXPECT_EQ(export_onnx(*graph, File().path()),
            std::vector<std::string>{"the ONNX model does not check: x must be sorted"});
}

}  // namespace
}  // namespace tenon
