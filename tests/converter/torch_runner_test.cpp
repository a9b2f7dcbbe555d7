// The source model run by LibTorch in a process of its own.
#include "converter/torch_runner.h"

#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"

namespace tenon {
namespace {

std::string model(const std::string& name) { return std::string(TEST_MODELS) + "/" + name; }

template <class T>
RawTensor tensor(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  RawTensor t{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

RawTensor f32(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return tensor(DType::f32, std::move(shape), values);
}

RawTensor number(std::int64_t value) { return tensor<std::int64_t>(DType::i64, {}, {value}); }

RawTensor ramp(std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<float>(i)));
  return f32(std::move(shape), values);
}

std::vector<float> floats(const RawTensor& t) {
  EXPECT_EQ(t.dtype, DType::f32);
  std::vector<float> values(t.bytes.size() / sizeof(float));
  std::memcpy(values.data(), t.bytes.data(), t.bytes.size());
  return values;
}

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& e) { return e.message(); }
  return "no error";
}

void expect_same(const std::vector<NamedRawTensor>& a, const std::vector<NamedRawTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].tensor.shape, b[i].tensor.shape);
    EXPECT_EQ(a[i].tensor.dtype, b[i].tensor.dtype);
    EXPECT_EQ(a[i].tensor.bytes, b[i].tensor.bytes) << a[i].name;
  }
}

TEST(TorchRunner, RunsAModel) {
  TorchRunner runner(model("traced.pt"));
  const std::vector<NamedRawTensor> inputs{{"", ramp({1, 3, 8, 8})}};
  const auto outputs = runner.run(inputs);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].name, "out");
  EXPECT_EQ(outputs[0].tensor.shape, (std::vector<std::int64_t>{1, 4, 6, 6}));
  for (const float y : floats(outputs[0].tensor)) EXPECT_GE(y, 0.0f);
}

TEST(TorchRunner, AnswersTheSameTwice) {
  TorchRunner runner(model("traced.pt"));
  const std::vector<NamedRawTensor> inputs{{"", ramp({1, 3, 8, 8})}};
  expect_same(runner.run(inputs), runner.run(inputs));
}

TEST(TorchRunner, TakesNumbersByTheParametersType) {
  TorchRunner runner(model("control_flow.pt"));
  const auto by_order = runner.run(std::vector<NamedRawTensor>{{"", ramp({2, 4})}, {"", number(3)}});
  const auto by_name = runner.run(std::vector<NamedRawTensor>{{"n", number(3)}, {"x", ramp({2, 4})}});
  expect_same(by_order, by_name);
}

TEST(TorchRunner, CallsOtherMethods) {
  TorchRunner runner(model("control_flow.pt"));
  const auto outputs = runner.run(std::vector<NamedRawTensor>{{"x", ramp({2, 4})}}, {.method = "twice"});
  EXPECT_EQ(outputs.at(0).tensor.shape, (std::vector<std::int64_t>{2, 4}));
  EXPECT_NE(error_of([&] { runner.run({}, {.method = "thrice"}); }).find("no method 'thrice'"),
            std::string::npos);
}

TEST(TorchRunner, NamesTheLeavesOfInputsAndOutputs) {
  TorchRunner runner(model("structured.pt"));
  const std::vector<NamedRawTensor> inputs{
      {"pair.0", f32({1}, {1})}, {"pair.1", f32({1}, {2})}, {"xs.0", f32({1}, {3})}, {"xs.1", f32({1}, {4})}};
  std::map<std::string, RawTensor> outputs;
  for (auto& output : runner.run(inputs)) outputs[output.name] = output.tensor;
  EXPECT_EQ(outputs.size(), 5u);
  EXPECT_EQ(floats(outputs.at("out.0.first")), std::vector<float>{3});
  EXPECT_EQ(floats(outputs.at("out.0.second")), std::vector<float>{1});
  EXPECT_EQ(floats(outputs.at("out.1.1")), std::vector<float>{8});
  EXPECT_EQ(outputs.at("out.2").dtype, DType::i64);
}

TEST(TorchRunner, NamesDictEntriesByKey) {
  TorchRunner runner(model("attributes.pt"));
  std::set<std::string> names;
  for (const auto& output : runner.run(std::vector<NamedRawTensor>{{"x", ramp({1, 3})}}))
    names.insert(output.name);
  EXPECT_EQ(names, (std::set<std::string>{"out.y", "out.k", "out.c"}));
}

TEST(TorchRunner, EveryCallSeesTheModuleAsSavedUnlessToldOtherwise) {
  TorchRunner runner(model("counter.pt"));
  const std::vector<NamedRawTensor> one{{"", f32({2}, {1, 1})}};
  const TorchCall stateful{.stateful = true};
  EXPECT_EQ(floats(runner.run(one)[0].tensor), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(runner.run(one)[0].tensor), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(runner.run(one, stateful)[0].tensor), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(runner.run(one, stateful)[0].tensor), (std::vector<float>{4, 4}));  // 2 · (1 + 1)
  EXPECT_EQ(floats(runner.run(one)[0].tensor), (std::vector<float>{1, 1}));
}

TEST(TorchRunner, LetsTheModelOpenNoOtherFile) {
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
    GTEST_SKIP() << "this kernel has no Landlock";
  TorchRunner runner(model("reads_a_file.pt"));
  const std::string said = error_of([&] { runner.run({}); });
  EXPECT_NE(said.find("Permission denied"), std::string::npos) << said;
}

TEST(TorchRunner, PassesOnWhatTheModelRaisesAndGoesOn) {
  TorchRunner runner(model("raises.pt"));
  EXPECT_NE(error_of([&] {
              runner.run(std::vector<NamedRawTensor>{{"", f32({1}, {1})}});
            }).find("only matrices"),
            std::string::npos);
  EXPECT_EQ(runner.run(std::vector<NamedRawTensor>{{"", f32({1, 1}, {1})}}).size(), 1u);
}

TEST(TorchRunner, SaysWhichInputIsMissingOrTooMany) {
  TorchRunner runner(model("control_flow.pt"));
  EXPECT_NE(error_of([&] {
              runner.run(std::vector<NamedRawTensor>{{"", ramp({2, 4})}});
            }).find("'n'"),
            std::string::npos);
  const std::vector<NamedRawTensor> misspelt{{"x", ramp({2, 4})}, {"n", number(1)}, {"bais", ramp({4})}};
  EXPECT_NE(error_of([&] { runner.run(misspelt); }).find("'bais'"), std::string::npos);
}

TEST(TorchRunner, AnEndlessModelIsAnError) {
  TorchRunner runner(model("endless_forward.pt"), {.timeout = std::chrono::seconds(3)});
  const auto said = error_of([&] { runner.run(std::vector<NamedRawTensor>{{"", f32({1}, {1})}}); });
  EXPECT_NE(said.find("still running the model after 3 s"), std::string::npos) << said;
}

TEST(TorchRunner, KeepsTheStateOfAStreamWhenAsked) {
  TorchRunner runner(model("silero_vad.pt"));
  const std::vector<NamedRawTensor> inputs{{"x", ramp({1, 512})}, {"sr", number(16000)}};
  const TorchCall stateful{.stateful = true};
  const auto first = runner.run(inputs, stateful), second = runner.run(inputs, stateful);
  EXPECT_NE(first.at(0).tensor.bytes, second.at(0).tensor.bytes) << "the second chunk has a context";
  expect_same(runner.run(inputs), first);
}

TEST(TorchIntermediateValues, FollowAStream) {
  const std::vector<NamedRawTensor> inputs{{"x", ramp({1, 512})}, {"sr", number(16000)}};
  const TorchCall stateful{.stateful = true};
  TorchRunner by_run(model("silero_vad.pt")), by_taps(model("silero_vad.pt"));
  for (int call = 0; call < 3; ++call) {
    expect_same(by_taps.intermediate_values(
                    inputs, [](const IntermediateValue&) { return true; }, stateful),
                by_run.run(inputs, stateful));
  }
}

TEST(TorchIntermediateValues, EndWithTheResultsOfRun) {
  const std::map<std::string, std::vector<NamedRawTensor>> cases{
      {"traced.pt", {{"", ramp({1, 3, 8, 8})}}},
      {"control_flow.pt", {{"", ramp({2, 4})}, {"", number(5)}, {"", ramp({4})}}},
      {"attributes.pt", {{"", ramp({2, 3})}}},
      {"in_place.pt", {{"", ramp({2, 3})}}},
      {"counter.pt", {{"", ramp({2})}}},
      {"int_times_half.pt", {{"", tensor<std::int64_t>(DType::i64, {3}, {1, 2, 3})}}},
  };
  for (const auto& [name, inputs] : cases) {
    SCOPED_TRACE(name);
    TorchRunner runner(model(name));
    const auto expected = runner.run(inputs);
    expect_same(runner.intermediate_values(inputs, [](const IntermediateValue&) { return true; }), expected);
  }
}

TEST(TorchIntermediateValues, NameModuleOperatorAndSource) {
  TorchRunner runner(model("traced.pt"));
  std::vector<IntermediateValue> taps;
  runner.intermediate_values(std::vector<NamedRawTensor>{{"", ramp({1, 3, 8, 8})}},
                             [&](const IntermediateValue& tap) {
                               taps.push_back(tap);
                               return true;
                             });
  ASSERT_EQ(taps.size(), 4u);
  EXPECT_EQ(taps[0].module, "conv");
  EXPECT_EQ(taps[0].op, "aten::_convolution");
  EXPECT_EQ(taps[1].module, "bn");
  EXPECT_EQ(taps[2].module, "");
  EXPECT_EQ(taps[2].op, "aten::relu");
  EXPECT_TRUE(taps[2].file.ends_with("make_models.py")) << taps[2].file;
  EXPECT_GT(taps[2].line, 0);
  EXPECT_EQ(taps[3].ordinal, 3u);
}

TEST(TorchIntermediateValues, KnowModulesInsideContainers) {
  TorchRunner runner(model("control_flow.pt"));
  std::set<std::string> modules;
  runner.intermediate_values(std::vector<NamedRawTensor>{{"", ramp({2, 4})}, {"", number(0)}},
                             [&](const IntermediateValue& tap) {
                               modules.insert(tap.module);
                               return true;
                             });
  EXPECT_EQ(modules, (std::set<std::string>{"", "linears.0", "linears.1", "linears.2"}));
}

TEST(TorchIntermediateValues, ShowValuesAsTheyWereBeforeLaterWrites) {
  TorchRunner runner(model("in_place.pt"));
  std::vector<std::vector<float>> seen;
  runner.intermediate_values(std::vector<NamedRawTensor>{{"", f32({2, 1}, {-3, 1})}},
                             [&](const IntermediateValue& tap) {
                               if (tap.tensor.shape.size() == 2) seen.push_back(floats(tap.tensor));
                               return true;
                             });
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen[0], (std::vector<float>{-2, 2}));  // x + 1, before relu_
  EXPECT_EQ(seen[1], (std::vector<float>{0, 2}));   // relu_
}

TEST(TorchIntermediateValues, AConstantOnTheRightIsAPythonScalar) {
  TorchRunner runner(model("int_times_half.pt"));
  DType dtype = DType::f64;
  runner.intermediate_values(std::vector<NamedRawTensor>{{"", tensor<std::int64_t>(DType::i64, {1}, {3})}},
                             [&](const IntermediateValue& tap) {
                               dtype = tap.tensor.dtype;
                               return true;
                             });
  EXPECT_EQ(dtype, DType::f32);
}

TEST(TorchIntermediateValues, StopWhenToldToAndTheProcessGoesOn) {
  TorchRunner runner(model("traced.pt"));
  const std::vector<NamedRawTensor> inputs{{"", ramp({1, 3, 8, 8})}};
  int count = 0;
  EXPECT_TRUE(
      runner.intermediate_values(inputs, [&](const IntermediateValue&) { return ++count < 2; }).empty());
  EXPECT_EQ(count, 2);
  EXPECT_EQ(runner.run(inputs).size(), 1u);
}

TEST(TorchTime, MeasuresEachIterationInBothModes) {
  TorchRunner runner(model("traced.pt"));
  const std::vector<NamedRawTensor> inputs{{"", ramp({1, 3, 8, 8})}};
  for (const TorchMode mode : {TorchMode::module, TorchMode::optimized}) {
    const auto milliseconds = runner.time(inputs, 2, 5, mode);
    ASSERT_EQ(milliseconds.size(), 5u);
    for (const double ms : milliseconds) EXPECT_GT(ms, 0.0);
  }
}

}  // namespace
}  // namespace tenon
