// Plans whose steps start together in several streams compute what they compute in one.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/runtime/covered_bytes.h"
#include "tests/runtime/planned_run.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr const char* queries_keys_values = R"((%x: f32[1,2,5,16]) {
  @q : f32[16,16] @k : f32[16,16] @v : f32[16,16]
  %1 = linear(%x, @q) %2 = linear(%x, @k) %3 = linear(%x, @v)
  %4 = attention(%1, %2, %3) %5 = add(%4, %x)
  return %5 })";
constexpr const char* inception = R"((%x: f32[1,6,7,7]) {
  @a : f32[4,6,1,1] @b : f32[4,6,1,1] @c : f32[5,4,3,3] @d : f32[3,6,1,1]
  %1 = conv(%x, @a) %2 = conv(%x, @b) %3 = conv(%2, @c, pad=1)
  %4 = max_pool(%x, kernel=3, stride=1, pad=1) %5 = conv(%4, @d)
  %6 = concat(%1, %3, %5, axis=1) %7 = softmax(%6, axis=1)
  return %7 })";
constexpr const char* towers = R"((%x: f32[6,8], %y: f32[6,8]) {
  @a : f32[8,8] @b : f32[8,8]
  %1 = softmax(%x, axis=1) %2 = matmul(%1, @a) %3 = softmax(%2, axis=0)
  %4 = softmax(%y, axis=1) %5 = matmul(%4, @b) %6 = softmax(%5, axis=0)
  return %3, %6 })";
// %4 lies over %1, which another branch reads.
constexpr const char* overwritten = R"((%x: f32[6,8]) {
  %1 = softmax(%x, axis=1) %2 = softmax(%1, axis=0) %3 = softmax(%2, axis=1) %4 = mul(%1, 2.0)
  %5 = softmax(%4, axis=0)
  return %3, %5 })";

std::shared_ptr<Graph> named(const std::string& body) { return graph_of("graph g" + body); }

// All values are f32[6,8]; each that nothing reads is a result.
std::string random_graph(unsigned seed) {
  std::mt19937 random(seed);
  std::string body = "(%x: f32[6,8], %y: f32[6,8]) {\n  @w : f32[8,8]\n  @v : f32[8,8]\n";
  std::vector<std::string> values{"%x", "%y"};
  std::set<std::string> unread;
  int count = 0;
  const auto pick = [&] {  // the last ones more often
    const std::size_t back = std::min(random() % values.size(), random() % values.size());
    const std::string& value = values[values.size() - 1 - back];
    unread.erase(value);
    return value;
  };
  const auto add = [&](const std::string& call) {
    body += fmt::format("  %{} = {}\n", ++count, call);
    return fmt::format("%{}", count);
  };
  const auto done = [&](const std::string& value) { values.push_back(value), unread.insert(value); };
  for (int k = 0; k < 14; ++k) {
    const std::string a = pick(), b = pick();
    switch (random() % 9) {
      case 0: done(add(fmt::format("softmax({}, axis={})", a, random() % 2))); break;
      case 1: done(add(fmt::format("cumsum({}, axis={})", a, random() % 2))); break;
      case 2: done(add(fmt::format("sub({}, {})", a, a == b ? "0.5" : b))); break;
      case 3: done(add(fmt::format("matmul({}, @{})", a, random() % 2 ? "w" : "v"))); break;
      case 4: {
        const auto axis = random() % 2;
        const std::string whole = add(fmt::format("concat({}, {}, axis={})", a, b, axis));
        done(add(fmt::format("slice({}, axis={}, start=3, end={})", whole, axis, axis ? 11 : 9)));
        break;
      }
      case 5: {
        const std::string turned = add(fmt::format("permute({}, axes=[1,0])", a));
        done(add(fmt::format("permute({}, axes=[1,0])", add(fmt::format("softmax({}, axis=0)", turned)))));
        break;
      }
      case 6: done(add(fmt::format("mul({}, {})", a, add(fmt::format("sum({}, axes=[0])", b))))); break;
      case 7: done(add(fmt::format("tanh({})", a))); break;
      default: {
        ++count;
        body += fmt::format("  %{}, %{}_at = sort({}, axis=1)\n", count, count, a);
        done(fmt::format("%{}", count));
      }
    }
  }
  return body + fmt::format("  return {} }}", fmt::join(unread, ", "));
}

class StreamedPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device.queue->recorded_streams() == 0) GTEST_SKIP() << "the device records nothing";
  }
  // Launches of one graph show whatever comes too late or too early (tests/softgpu/README.md).
  static bool shows_missing_waits() {
    const char* schedule = std::getenv("SOFTGPU_SCHED");
    return default_device().name == "far" || (schedule && std::string_view(schedule) == "others");
  }

  // Whether the plan computes the bits of one stream, in as many runs as show what is missing.
  bool computes_the_same(PlannedRun& run, const Graph& graph) {
    PlannedRun expected(graph, device, false);
    for (unsigned turn = 0; turn < run.plan->steps.size() + 2; ++turn) {
      const auto inputs = inputs_of(graph, {}, 10 * turn);
      if (!same_bits(run(inputs), expected(inputs))) return false;
    }
    return true;
  }

  OpenDevice device{default_device(), 1};
};

// Two caches, to which something is appended: each is two pieces, and rounded.
TEST_F(StreamedPlans, StartSmallLoopsTogetherOnGpus) {
  if (default_device().name == "far") GTEST_SKIP() << "its kernels are the CPU's";
  const auto graph = named(R"((%k: f32[2,5,16], %v: f32[2,5,16], %new: f32[2,2,1,16]) {
  %1 = slice(%new, axis=0, start=0, end=1) %2 = reshape(%1, shape=[2,1,16])
  %3 = slice(%new, axis=0, start=1, end=2) %4 = reshape(%3, shape=[2,1,16])
  %5 = concat(%k, %2, axis=1) %6 = cast(%5, to=bf16)
  %7 = concat(%v, %4, axis=1) %8 = cast(%7, to=bf16)
  return %5, %6, %7, %8 })");
  PlannedRun run(*graph, device), apart(*graph, device, false);
  EXPECT_EQ(apart.plan->steps.size(), 6u);
  EXPECT_EQ(run.plan->steps.size(), 2u) << run.plan->text();
  EXPECT_TRUE(computes_the_same(run, *graph));
}

TEST_F(StreamedPlans, AreAsWideAsTheGraph) {
  if (default_device().name == "far") GTEST_SKIP() << "its kernels share scratch memory";
  const std::pair<const char*, std::size_t> rows[] = {{queries_keys_values, 3}, {inception, 3}, {towers, 2}};
  for (const auto& [graph, streams] : rows) {
    const PlannedRun run(*named(graph), device);
    ASSERT_EQ(run.plan->recorded.size(), 1);
    EXPECT_EQ(count_streams(run.plan->recorded[0].places),
              std::min(streams, device.queue->recorded_streams()))
        << run.plan->text();
    EXPECT_NE(run.plan->text().find(fmt::format("start together, on {} streams", streams)),
              std::string::npos);
    EXPECT_NE(run.plan->text().find("| stream 1"), std::string::npos);
  }
}

// Planned only.
TEST_F(StreamedPlans, AreOneStreamWhereEachStepFillsTheDevice) {
  if (default_device().name == "far") GTEST_SKIP() << "nothing fills it";
  for (const auto& [rows, streams] : {std::pair{6, 2}, std::pair{1 << 22, 1}}) {
    const auto graph =
        named(fmt::format("(%x: f32[{0},8], %y: f32[{0},8]) {{ %1 = softmax(%x, axis=1) %2 = softmax(%y, "
                          "axis=1) return %1, %2 }}",
                          rows));
    const PlannedRun run(*graph, device);
    EXPECT_EQ(count_streams(run.plan->recorded[0].places), streams) << run.plan->text();
  }
}

// Which bytes of which memory a step touches, once the buffers lie.
using Bytes = std::map<std::pair<int, std::size_t>, std::set<std::int64_t>>;
Bytes bytes_of(const Plan& plan, const std::vector<PlannedTensor>& tensors) {
  Bytes bytes;
  for (const PlannedTensor& t : tensors) {
    const Buffer& b = plan.buffers[t.buffer()];
    const bool in_arena = b.kind == Buffer::Kind::arena;
    auto& of_memory = bytes[{in_arena ? static_cast<int>(b.space) : -1, in_arena ? 0 : t.buffer()}];
    for (const std::int64_t byte : covered_bytes(t))
      of_memory.insert(byte + (in_arena ? static_cast<std::int64_t>(b.offset) : 0));
  }
  return bytes;
}
bool meet(const Bytes& a, const Bytes& b) {
  return std::ranges::any_of(a, [&](const auto& of_memory) {
    const auto other = b.find(of_memory.first);
    return other != b.end() && testing::meet(of_memory.second, other->second);
  });
}

// Pairs of steps in no order of which one writes what the other reads or writes.
int conflicts(const Plan& plan) {
  const StepOrder order = order_of(plan.steps.size(), plan.recorded);
  std::vector<Bytes> reads, writes;
  for (const auto& step : plan.steps) {
    reads.push_back(bytes_of(plan, step->reads));
    writes.push_back(bytes_of(plan, step->writes));
  }
  int found = 0;
  for (std::size_t b = 0; b < plan.steps.size(); ++b)
    for (std::size_t a = 0; a < b; ++a) {
      const bool share_scratch = plan.steps[a]->scratch_bytes > 0 && plan.steps[b]->scratch_bytes > 0;
      const bool conflict = share_scratch || meet(writes[a], reads[b]) || meet(reads[a], writes[b]) ||
                            meet(writes[a], writes[b]);
      found += conflict && !order.precedes(a, b);
    }
  return found;
}

constexpr unsigned graphs = 12;

TEST_F(StreamedPlans, KeepEveryOrderThatMemoryAsksFor) {
  std::size_t wide = 0;
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const PlannedRun run(*named(random_graph(seed)), device);
    EXPECT_EQ(conflicts(*run.plan), 0) << random_graph(seed) << run.plan->text();
    wide += count_streams(run.plan->recorded[0].places) > 1;
  }
  EXPECT_GE(wide, graphs - 2);
}

TEST_F(StreamedPlans, ComputeTheBitsOfOneStream) {
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const auto graph = named(random_graph(seed));
    PlannedRun run(*graph, device);
    EXPECT_TRUE(computes_the_same(run, *graph)) << random_graph(seed) << run.plan->text();
  }
  for (const char* text : {queries_keys_values, inception, towers, overwritten}) {
    const auto graph = named(text);
    PlannedRun run(*graph, device);
    EXPECT_TRUE(computes_the_same(run, *graph)) << run.plan->text();
  }
}

// Mutants: one wait less.
TEST_F(StreamedPlans, NeedEveryWait) {
  if (!shows_missing_waits()) GTEST_SKIP() << "the schedule need not show it";
  int waits = 0;
  for (const char* text : {queries_keys_values, inception, towers, overwritten}) {
    const auto graph = named(text);
    const auto count = PlannedRun(*graph, device).plan->recorded[0].places.size();
    for (std::size_t step = 0; step < count; ++step)
      for (std::size_t k = 0;; ++k) {
        PlannedRun run(*graph, device);
        auto& after = run.plan->recorded[0].places[step].after;
        if (k >= after.size()) break;
        const std::size_t on = after[k];
        after.erase(after.begin() + static_cast<std::ptrdiff_t>(k));
        EXPECT_FALSE(computes_the_same(run, *graph)) << step << " no more after " << on << "\n"
                                                     << run.plan->text();
        ++waits;
      }
  }
  EXPECT_GE(waits, 5);
}

// Mutants: a class of hazards is not looked at.
TEST_F(StreamedPlans, NeedEveryHazard) {
  if (!shows_missing_waits()) GTEST_SKIP() << "the schedule need not show it";
  if (default_device().name == "far") GTEST_SKIP() << "its kernels share scratch memory";
  for (const Hazard hazard : {Hazard::read_after_write, Hazard::write_after_read}) {
    const auto graph = named(overwritten);
    PlannedRun run(*graph, device);
    std::vector<Dependency> found = dependencies(run.plan->steps);
    EXPECT_GT(std::erase_if(found, [&](const Dependency& d) { return d.why == hazard; }), 0);
    run.plan->recorded[0].places = assign_streams(run.plan->steps.size(), found, 4);
    EXPECT_FALSE(computes_the_same(run, *graph)) << static_cast<int>(hazard) << run.plan->text();
    EXPECT_GT(conflicts(*run.plan), 0);
  }
}

// A mutant: buffers share memory as if there was one stream.
TEST_F(StreamedPlans, NeedMemoryThatTheirOrderAllows) {
  int wrong = 0;
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const auto graph = named(random_graph(seed));
    PlannedRun run(*graph, device, false);
    run.plan->recorded = recorded_ranges(run.plan->steps, device.queue->recorded_streams());
    const bool conflict = conflicts(*run.plan) > 0;
    const bool differs = !computes_the_same(run, *graph);
    EXPECT_TRUE(conflict || !differs) << random_graph(seed) << run.plan->text();
    wrong += differs;
  }
  if (shows_missing_waits()) { EXPECT_GT(wrong, 0); }
}

}  // namespace
}  // namespace tenon::testing
