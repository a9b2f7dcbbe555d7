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
      far_plan_of("graph g(%x: f32[4]) {\n  %1, %2 = sort(%x, axis=0) : f32[4], i64[4]\n  return %1\n}\n");
  EXPECT_EQ(kernels_of(*plan), (std::vector<std::string>{"copy to host", "reference", "copy to device"}));
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

TEST(Far, ABadIndexIsReportedWhenTheRunIsDone) {
  const auto graph = graph_of(pick);
  for (const Device* device : {&cpu_device(), &far_device()}) {
    Session session(graph, {.device = device});
    auto inputs = inputs_of(*graph, {{"N", 5}});
    inputs[1] = Tensor::of<int>(DType::i64, {3}, {0, 7, 9});
    for (int run = 0; run < 2; ++run) {
      try {
        session.run(inputs);
        FAIL();
      } catch (const Error& e) { EXPECT_EQ(e.message(), "index 7 is outside of [0, 5)"); }
    }
    inputs[1] = Tensor::of<int>(DType::i64, {3}, {0, 4, 2});
    expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
  }
}

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

}  // namespace
}  // namespace tenon::testing
