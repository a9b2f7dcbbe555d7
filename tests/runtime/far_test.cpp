// What a device with memory of its own changes: transfers are steps, faults are read when a run is done,
// inputs and outputs can be bound where they lie.
#include "tests/far/far.h"

#include "runtime/planner.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr const char* pick = R"(graph pick(%x: f32[N,4], %i: i64[3]) {
  %1 = index_select(%x, %i) : f32[3,4]
  %2 = exp(%1) : f32[3,4]
  return %2
}
)";

std::shared_ptr<const Plan> far_plan_of(std::string_view text, const Bindings& sizes = {}) {
  const auto graph = graph_of(text);
  Session session(graph, {.device = &far_device()});
  return session.plan_for(inputs_of(*graph, sizes));
}

TEST(Far, TheHostCannotReadItsMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // queues have threads
  OpenDevice device(far_device(), 1);
  const Tensor x = device.upload(Tensor::of<double>(DType::f32, {2}, {1, 2}));
  EXPECT_EQ(x.storage()->space, Space::device);
  EXPECT_THROW(x.bytes(), InternalError);
  EXPECT_DEATH((void)*reinterpret_cast<volatile float*>(x.address()), "");
  EXPECT_EQ(device.download(x).get_double({{1}}), 2);
}

TEST(Far, ItsQueueRunsNothingBeforeSomeoneWaits) {
  OpenDevice device(far_device(), 1);
  std::int64_t from = 1, to = 0;
  device.queue->copy(&to, &from, sizeof from);
  EXPECT_EQ(to, 0);
  device.queue->wait();
  EXPECT_EQ(to, 1);
}

TEST(Far, WhatTheInterpreterNeedsIsCopiedByStepsOfThePlan) {
  const auto plan =
      far_plan_of("graph g(%x: f32[2,2]) {\n  %1, %2 = eig(%x) : c64[2], c64[2,2]\n  return %1\n}\n");
  EXPECT_EQ(kernels_of(*plan),
            (std::vector<std::string>{"copy to host", "reference", "copy to device", "copy to device"}));
}

TEST(Far, SizesThatTheDeviceCountsAreReadByTheHost) {
  const auto plan = far_plan_of(R"(graph g(%x: f32[4,2]) {
  %1 = abs(%x) : f32[4,2]
  %2 = greater(%1, 0.5) : bool[4,2]
  %3 = nonzero(%2, count=?0) : i64[?0,2]
  %4 = add(%3, 1) : i64[?0,2]
  return %4, %1
}
)");
  EXPECT_EQ(kernels_of(*plan),
            (std::vector<std::string>{"copy to device", "5 nodes", "copy to host", "size", "copy to device",
                                      "9 nodes", "copy to host", "copy to host"}));
}

TEST(Far, AConditionIsCopiedToTheHost) {
  const auto plan = far_plan_of(R"(graph g(%x: f32[4], %go: bool[]) {
  %3 = if(%go, %x) (%a: f32[4]) {
    %1 = exp(%a) : f32[4]
    return %1
  } (%b: f32[4]) {
    %2 = neg(%b) : f32[4]
    return %2
  } : f32[4]
  return %3
}
)");
  EXPECT_EQ(kernels_of(*plan), (std::vector<std::string>{"copy to host", "branch"}));
}

// A graph that reads x at the indices i, one of which may be 7 where 5 is the size.
struct Indexed {
  const char* nodes;
  const char* message;
};

std::string graph_with(const char* nodes) {
  return fmt::format("graph g(%x: f32[5,4], %i: i64[3]) {{\n{}  return %9\n}}\n", nodes);
}

class FarIndices : public ::testing::TestWithParam<Indexed> {};

TEST_P(FarIndices, ABadOneIsReportedWhenTheRunIsDone) {
  const auto graph = graph_of(graph_with(GetParam().nodes));
  for (const Device* device : {&cpu_device(), &far_device()}) {
    Session session(graph, {.device = device});
    auto inputs = inputs_of(*graph, {});
    for (int run = 0; run < 2; ++run) {
      inputs[1] = Tensor::of<int>(DType::i64, {3}, {0, 7, 9});
      try {
        session.run(inputs);
        FAIL();
      } catch (const Error& e) { EXPECT_EQ(e.message(), GetParam().message); }
      inputs[1] = Tensor::of<int>(DType::i64, {3}, {0, 4, 2});
      expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Users, FarIndices,
    ::testing::Values(
        Indexed{"  %9 = index_select(%x, %i) : f32[3,4]\n", "index 7 is outside of [0, 5)"},
        Indexed{"  %9 = fused { index_select(%x, %i); exp } : f32[3,4]\n", "index 7 is outside of [0, 5)"},
        // The interpreter would stop with an error of its own: the older one is told.
        Indexed{"  %1 = index_select(%x, %i) : f32[3,4]\n  %2 = cast(%1, to=i64) : i64[3,4]\n"
                "  %9 = scatter(%x, %2, %1, axis=0) : f32[5,4]\n",
                "index 7 is outside of [0, 5)"},
        // Its edges are sorted by a step of its own, and then read.
        Indexed{"  %1 = full(shape=[5,4]) : f32[5,4]\n  %2 = slice(%x, axis=0, start=0, end=3) : f32[3,4]\n"
                "  %9 = index_add(%1, %i, %2) : f32[5,4]\n",
                "index 7 is outside of [0, 5)"},
        Indexed{"  %9 = loop(true:bool, %x, %i, carried=1) (%k: i64[], %a: f32[5,4], %j: i64[3]) {\n"
                "    %1 = index_select(%a, %j) : f32[3,4]\n"
                "    %2 = sum(%1, axes=[0,1]) : f32[]\n"
                "    %3 = add(%a, %2) : f32[5,4]\n"
                "    %4 = less(%k, 3) : bool[]\n"
                "    return %4, %3\n  } : f32[5,4]\n",
                "index 7 is outside of [0, 5)"}));

TEST(Far, InputsAndOutputsAreBoundWhereTheyLie) {
  const auto graph = graph_of(pick);
  for (const Device* device : {&cpu_device(), &far_device()}) {
    Session session(graph, {.device = device});
    const auto inputs = inputs_of(*graph, {{"N", 5}});
    const std::vector<Tensor> bound{session.upload(inputs[0]), session.upload(inputs[1])};
    const std::vector<Tensor> outputs{session.upload(Tensor::zeros(DType::f32, {3, 4}))};
    session.run_bound(bound, outputs);
    expect_close(session.download(outputs[0]), evaluate(*graph, inputs)[0]);
  }
}

TEST(Far, MemoryOfTheHostCannotBeBound) {
  const auto graph = graph_of(pick);
  Session session(graph, {.device = &far_device()});
  const auto inputs = inputs_of(*graph, {{"N", 5}});
  const std::vector<Tensor> outputs{Tensor::zeros(DType::f32, {3, 4})};
  try {
    session.run_bound(inputs, outputs);
    FAIL();
  } catch (const Error& e) { EXPECT_EQ(e.message(), "input x is not dense in the memory of the device far"); }
}

TEST(Far, ATensorOfTheDeviceIsNoInputOfRun) {
  const auto graph = graph_of(pick);
  for (const Device* device : {&cpu_device(), &far_device()}) {
    OpenDevice far(far_device(), 1);
    Session session(graph, {.device = device});
    auto inputs = inputs_of(*graph, {{"N", 5}});
    inputs[0] = far.upload(inputs[0]);
    EXPECT_THROW(session.run(inputs), Error);
    if (device == &far_device()) continue;
    EXPECT_THROW(session.run_bound(inputs, std::vector{Tensor::zeros(DType::f32, {3, 4})}), Error);
  }
}

TEST(Far, OutputsThatMayNotBeWrittenAreRefused) {
  const auto graph = graph_of(pick);
  Session session(graph, {.device = &cpu_device()});
  const auto inputs = inputs_of(*graph, {{"N", 5}});
  const Tensor memory = Tensor::zeros(DType::f32, {3, 4});
  Storage closed = *memory.storage();
  closed.writable = false;
  const std::vector<Tensor> outputs{
      Tensor::view_of(std::make_shared<const Storage>(closed), DType::f32, {3, 4}, {4, 1}, 0)};
  EXPECT_THROW(session.run_bound(inputs, outputs), Error);
}

// Plans of many sizes fold constants of their own.
TEST(Far, MemoryOfConstantsEndsWithTheirPlans) {
  OpenDevice device(far_device(), 1);
  const Tensor weight = Tensor::zeros(DType::f32, {8});
  const std::weak_ptr<const Memory> copy = device.weights.resident(*weight.storage());
  EXPECT_TRUE(copy.expired());
  const auto kept = device.weights.resident(*weight.storage());
  EXPECT_EQ(device.weights.resident(*weight.storage()), kept);
}

}  // namespace
}  // namespace tenon::testing
