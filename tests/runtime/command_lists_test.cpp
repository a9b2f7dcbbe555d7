// On a device that records, plans start as a whole from their second run on, with the data of each run.
#include "runtime/command_lists.h"

#include <dlfcn.h>

#include <thread>

#include "runtime/group.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

class CommandLists : public ::testing::Test {
 protected:
  void SetUp() override {
    if (OpenDevice(default_device(), 1).queue->recorded_streams() == 0)
      GTEST_SKIP() << "the device records nothing";
  }
};

// How often the program called a function of the soft GPU's driver; 0 on other devices.
unsigned long long calls(const char* cuda, const char* hip) {
  if (default_device().name == "far") return 0;
  const bool is_cuda = default_device().name.starts_with("cuda");
  static void* const driver = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW);
  using Count = unsigned long long(const char*);
  auto* count = reinterpret_cast<Count*>(dlsym(driver, is_cuda ? "cuSoftgpuCalls" : "hipSoftgpuCalls"));
  return count ? count(is_cuda ? cuda : hip) : 0;
}

bool counts_calls() { return calls("cuMemAlloc_v2", "hipMalloc") > 0; }

// What was started one by one and as a graph since it was made.
class Starts {
 public:
  unsigned long long kernels() const { return now_kernels() - kernels_; }
  unsigned long long graphs() const { return now_graphs() - graphs_; }

 private:
  static unsigned long long now_kernels() { return calls("cuLaunchKernel", "hipModuleLaunchKernel"); }
  static unsigned long long now_graphs() { return calls("cuGraphLaunch", "hipGraphLaunch"); }
  unsigned long long kernels_ = now_kernels(), graphs_ = now_graphs();
};

constexpr const char* two_loops = R"(graph two_loops(%x: f32[N,6]) {
  %1 = softmax(%x, axis=1) : f32[N,6]
  %2 = sum(%1, axes=[0]) : f32[6]
  %3 = mul(%1, %2) : f32[N,6]
  return %3, %2
}
)";

void expect_run(Session& session, const std::vector<Tensor>& inputs) {
  const auto outputs = session.run(inputs), expected = evaluate(session.graph(), inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(outputs[i], expected[i]);
}

TEST_F(CommandLists, StartAPlanAtOnceFromTheSecondRunOn) {
  const auto graph = graph_of(residual_net);
  Session session(graph);
  for (unsigned run = 0; run < 5; ++run) {
    const Starts starts;
    expect_run(session, inputs_of(*graph, {{"N", 2}}, 10 * run));
    if (!counts_calls()) continue;
    EXPECT_EQ(starts.graphs(), run == 0 ? 0 : 1);
    EXPECT_EQ(starts.kernels() > 0, run < 2);
  }
  const auto plan = session.plan_for(inputs_of(*graph, {{"N", 2}}));
  ASSERT_EQ(plan->recorded.size(), 1);
  EXPECT_EQ(plan->recorded[0].begin, 0);
  EXPECT_EQ(plan->recorded[0].end, plan->steps.size());
  EXPECT_NE(plan->text().find("from the second run on, steps 0 to"), std::string::npos);
}

TEST_F(CommandLists, AreOfOneSignature) {
  const auto graph = graph_of(two_loops);
  Session session(graph);
  for (unsigned run = 0; run < 4; ++run)
    for (const std::int64_t n : {3, 70, 1}) expect_run(session, inputs_of(*graph, {{"N", n}}, run));
}

// The second plan's workspace is larger: what was recorded in the smaller one lies elsewhere.
TEST_F(CommandLists, DoNotOutliveTheirMemory) {
  const auto graph = graph_of(two_loops);
  Session session(graph, {.max_plans = 1});
  for (const std::int64_t n : {2, 2, 4000, 2, 2, 4000, 4000, 2})
    expect_run(session, inputs_of(*graph, {{"N", n}}, static_cast<unsigned>(n)));
}

TEST_F(CommandLists, AreOfOneThreadsWorkspace) {
  const auto graph = graph_of(transformer);
  Session session(graph);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned run = 0; run < 4; ++run)
        expect_run(session, inputs_of(*graph, {{"N", 1}, {"seq", 3 + t % 2}}, 100 * t + 10 * run));
    });
  for (auto& t : threads) t.join();
}

// Blocks that share a product count in memory that they leave as it was: every later run of every thread
// finds it so.
TEST_F(CommandLists, RunSharedProductsAgain) {
  const auto graph = graph_of(R"(graph g(%x: f32[N,2000], %w: f32[2000,70]) {
  %1 = matmul(%x, %w) : f32[N,70]
  %2 = fused matmul(%x, %w) { relu } : f32[N,70]
  %3 = add(%1, %2) : f32[N,70]
  return %3
}
)");
  Session session(graph);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (unsigned run = 0; run < 4; ++run)
        expect_run(session, inputs_of(*graph, {{"N", 9 + 40 * (run % 2)}}, 100 * t + 10 * run));
    });
  for (auto& t : threads) t.join();
  const std::string planned = session.plan_for(inputs_of(*graph, {{"N", 9}}))->text();
  if (default_device().name != "far") { EXPECT_NE(planned.find(" parts"), std::string::npos) << planned; }
}

TEST_F(CommandLists, AreOfBoundAddresses) {
  const auto graph = graph_of(two_loops);
  Session session(graph);
  const auto memory = [&](unsigned seed) {
    std::vector<Tensor> bound;
    for (const Tensor& t : inputs_of(*graph, {{"N", 5}}, seed)) bound.push_back(session.upload(t));
    return bound;
  };
  const auto results = [&] {
    return std::vector{session.upload(Tensor::zeros(DType::f32, {5, 6})),
                       session.upload(Tensor::zeros(DType::f32, {6}))};
  };
  const std::vector<Tensor> inputs[] = {memory(1), memory(2), memory(3)};
  const std::vector<Tensor> outputs[] = {results(), results()};
  for (int turn = 0; turn < 3; ++turn) {
    const Starts starts;
    for (const auto& in : inputs)
      for (const auto& out : outputs) {
        session.run_bound(in, out);
        std::vector<Tensor> on_host;
        for (const Tensor& t : in) on_host.push_back(session.download(t));
        const auto expected = evaluate(*graph, on_host);
        for (std::size_t i = 0; i < out.size(); ++i) expect_close(session.download(out[i]), expected[i]);
      }
    if (counts_calls()) { EXPECT_EQ(starts.graphs(), turn == 0 ? 0 : 6); }
  }
}

TEST_F(CommandLists, LeaveOutWhatTheHostComputes) {
  const auto graph = graph_of(R"(graph g(%x: f32[N,4]) {
  %1 = softmax(%x, axis=1) : f32[N,4]
  %2, %3 = sort(%1, axis=1) : f32[N,4], i64[N,4]
  %4 = softmax(%2, axis=0) : f32[N,4]
  %5 = sum(%4, axes=[0]) : f32[4]
  %6 = mul(%4, %5) : f32[N,4]
  return %6, %3
}
)");
  Session session(graph, {.choose = [](const Group& group, std::span<const CandidateInfo> candidates) {
                    for (std::size_t i = 0; i < candidates.size(); ++i)
                      if (candidates[i].kernel == "reference" && group.ops() == "sort")
                        return Decision{i, "a test"};
                    return least_estimate(group, candidates);
                  }});
  for (unsigned run = 0; run < 4; ++run) expect_run(session, inputs_of(*graph, {{"N", 7}}, run));
  const auto plan = session.plan_for(inputs_of(*graph, {{"N", 7}}));
  std::size_t steps = 0;
  for (const StepRange& range : plan->recorded)
    for (std::size_t i = range.begin; i < range.end; ++i, ++steps)
      EXPECT_NE(plan->steps[i]->info.kind, StepKind::reference);
  EXPECT_EQ(plan->recorded.size(), 2);
  EXPECT_EQ(steps, plan->steps.size() - 1);
}

// The stages meet their memory again.
TEST_F(CommandLists, AreMadeOfStages) {
  const auto graph = graph_of(R"(graph g(%x: f32[N,2]) {
  %1 = greater(%x, 0.0) : bool[N,2]
  %2 = nonzero(%1, count=?0) : i64[?0,2]
  %3 = cast(%2, to=f32) : f32[?0,2]
  %4 = softmax(%3, axis=0) : f32[?0,2]
  %5 = sum(%4, axes=[1]) : f32[?0]
  return %5, %4
}
)");
  Session session(graph);
  for (unsigned run = 0; run < 8; ++run) {
    const Starts starts;
    const auto allocations = calls("cuMemAlloc_v2", "hipMalloc");
    expect_run(session, inputs_of(*graph, {{"N", 9}}, run % 4));
    if (!counts_calls() || run < 7) continue;
    EXPECT_EQ(starts.graphs(), 1);
    EXPECT_EQ(calls("cuMemAlloc_v2", "hipMalloc"), allocations);
  }
}

TEST_F(CommandLists, AreNotMadeOfWhatTheHostDrives) {
  const auto graph = graph_of(R"(graph g(%x: f32[N,2]) {
  %1 = greater(%x, 0.0) : bool[N,2]
  %2 = nonzero(%1, count=?0) : i64[?0,2]
  %3 = mul(%2, 2) : i64[?0,2]
  return %3
}
)");
  Session session(graph);
  for (unsigned run = 0; run < 4; ++run) expect_run(session, inputs_of(*graph, {{"N", 9}}, run));
  EXPECT_TRUE(session.plan_for(inputs_of(*graph, {{"N", 9}}))->recorded.empty());
}

constexpr const char* recurrent = R"(graph recurrent(%x: f32[T,2,4], %h: f32[2,4]) {
  @w : f32[4,4]
  %1, %2 = loop(true:bool, %h, %x, carried=1, limit=T) (%i: i64[], %a: f32[2,4], %rows: f32[T,2,4]) {
    %3 = index_select(%rows, %i) : f32[2,4]
    %4 = linear(%a, @w) : f32[2,4]
    %5 = add(%3, %4) : f32[2,4]
    %6 = softmax(%5, axis=1) : f32[2,4]
    return true:bool, %6, %6
  } : f32[2,4], f32[T,2,4]
  return %1, %2
}
)";

// Carried values go to and fro: from a loop's fourth step on, a step has run at its addresses before.
TEST_F(CommandLists, StartTheStepsOfALoopAtOnce) {
  const auto graph = graph_of(recurrent);
  Session session(graph);
  for (unsigned run = 0; run < 3; ++run) {
    const Starts starts;
    expect_run(session, inputs_of(*graph, {{"T", 7}}, run));
    if (!counts_calls()) continue;
    EXPECT_EQ(starts.graphs(), run == 0 ? 4 : 7);
    EXPECT_EQ(starts.kernels() > 0, run < 2);
  }
}

// The limit may be beyond the numbers of steps that the host gives at once.
TEST_F(CommandLists, NeedNoWaitInALoopThatRunsToItsLimit) {
  const auto graph = graph_of(recurrent);
  Session session(graph);
  const auto waits = [&](std::int64_t steps) {
    const auto inputs = inputs_of(*graph, {{"T", steps}});
    session.run(inputs);
    const auto before = calls("cuStreamSynchronize", "hipStreamSynchronize");
    expect_run(session, inputs);
    return calls("cuStreamSynchronize", "hipStreamSynchronize") - before;
  };
  const auto of_few = waits(5), of_more = waits(50);
  EXPECT_EQ(of_few, of_more);
  EXPECT_EQ(waits(1030), of_few + (counts_calls() ? 1 : 0));
}

TEST_F(CommandLists, StartBranchesAtOnce) {
  const auto graph = graph_of(R"(graph g(%x: f32[5,4], %y: f32[4], %go: bool[]) {
  %1 = if(%go, %x, %y) (%a: f32[5,4], %b: f32[4]) {
    %2 = softmax(%a, axis=1) : f32[5,4]
    %3 = mul(%2, %b) : f32[5,4]
    return %3
  } (%a: f32[5,4], %b: f32[4]) {
    %4 = loop(true:bool, %a, carried=1, limit=3) (%i: i64[], %c: f32[5,4]) {
      %5 = softmax(%c, axis=0) : f32[5,4]
      %6 = softmax(%5, axis=1) : f32[5,4]
      return true:bool, %6
    } : f32[5,4]
    return %4
  } : f32[5,4]
  return %1
}
)");
  Session session(graph);
  auto inputs = inputs_of(*graph, {});
  for (unsigned run = 0; run < 8; ++run) {
    const bool go = run % 2 == 0;
    inputs[2] = Tensor::scalar(DType::boolean, std::int64_t{go});
    const Starts starts;
    expect_run(session, inputs);
    if (!counts_calls() || run < 4) continue;
    EXPECT_EQ(starts.graphs(), go ? 1 : 3);
    EXPECT_EQ(starts.kernels(), 0);
  }
}

TEST_F(CommandLists, TellTheSameFaults) {
  const auto graph = graph_of(R"(graph g(%x: f32[5,4], %i: i64[3]) {
  %1 = index_select(%x, %i) : f32[3,4]
  %2 = sum(%1, axes=[0]) : f32[4]
  %3 = mul(%1, %2) : f32[3,4]
  return %3
}
)");
  Session session(graph);
  auto inputs = inputs_of(*graph, {});
  for (int run = 0; run < 4; ++run) {
    inputs[1] = Tensor::of<int>(DType::i64, {3}, {0, 7, 9});
    try {
      session.run(inputs);
      FAIL();
    } catch (const Error& e) { EXPECT_EQ(e.message(), "index 7 is outside of [0, 5)"); }
    inputs[1] = Tensor::of<int>(DType::i64, {3}, {0, 4, run});
    expect_run(session, inputs);
  }
}

TEST_F(CommandLists, AreNotUsedByTimedRuns) {
  const auto graph = graph_of(two_loops);
  Session session(graph);
  const auto inputs = inputs_of(*graph, {{"N", 5}});
  auto outputs = session.run(inputs);
  session.run_into(inputs, outputs);
  const Starts starts;
  RunTimes times;
  session.profile_run(inputs, outputs, times);
  EXPECT_EQ(times.steps.size(), session.plan_for(inputs)->steps.size());
  EXPECT_EQ(starts.graphs(), 0);
}

// The caller runs without.
TEST_F(CommandLists, AreGivenUpWhereTheyFail) {
  const std::array one{StreamPlace{}};
  OpenDevice device(default_device(), 1);
  EXPECT_EQ(device.queue->record(one, [](std::size_t, Queue&) { throw error("a test"); }), nullptr);
  EXPECT_EQ(device.queue->record(one, [](std::size_t, Queue& queue) { queue.wait(); }), nullptr);
  const Tensor x = device.upload(Tensor::of<double>(DType::f32, {2}, {1, 2})),
               y = device.empty(DType::f32, {2});
  const auto list = device.queue->record(one, [&](std::size_t, Queue& queue) {
    queue.copy(const_cast<std::byte*>(y.address()), x.address(), 8);
  });
  ASSERT_NE(list, nullptr);
  list->replay();
  device.queue->wait();
  EXPECT_EQ(device.download(y).get_double({{1}}), 2);
}

}  // namespace
}  // namespace tenon::testing
