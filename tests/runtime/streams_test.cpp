// Which steps must come after which others, and in which streams they run.
#include "runtime/streams.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/overlap.h"
#include "tests/runtime/covered_bytes.h"

namespace tenon::testing {
namespace {

class NoStep : public Step {
 public:
  void run(const Frame&) const override {}
};

PlannedTensor tensor(std::size_t buffer, Strided layout) { return {buffer, std::move(layout)}; }
PlannedTensor row(std::size_t buffer, std::int64_t begin = 0, std::int64_t end = 8) {
  return tensor(buffer, Strided(DType::f32, {8}, {1}, 0).slice(0, begin, end));
}

struct StepRow {
  std::vector<PlannedTensor> reads, writes;
  std::size_t scratch = 0;
  bool fills = false;
};
std::vector<std::unique_ptr<Step>> steps_of(std::vector<StepRow> rows) {
  std::vector<std::unique_ptr<Step>> steps;
  for (StepRow& r : rows) {
    steps.push_back(std::make_unique<NoStep>());
    steps.back()->reads = std::move(r.reads);
    steps.back()->writes = std::move(r.writes);
    steps.back()->scratch_bytes = r.scratch;
    steps.back()->fills_device = r.fills;
  }
  return steps;
}

std::string text(std::span<const Dependency> dependencies) {
  constexpr const char* names[] = {"read after write", "write after read", "write after write",
                                   "full device"};
  std::string all;
  for (const Dependency& d : dependencies)
    all += fmt::format("{}{} on {}: {}", all.empty() ? "" : ", ", d.step, d.on,
                       names[static_cast<std::size_t>(d.why)]);
  return all;
}

TEST(Dependencies, AreHazardsOfMemory) {
  const auto of = [](std::vector<StepRow> rows) { return text(dependencies(steps_of(std::move(rows)))); };
  EXPECT_EQ(of({{{}, {row(0)}}, {{row(0)}, {row(1)}}}), "1 on 0: read after write");
  EXPECT_EQ(of({{{row(0)}, {row(1)}}, {{}, {row(0)}}}), "1 on 0: write after read");
  EXPECT_EQ(of({{{}, {row(0)}}, {{}, {row(0)}}}), "1 on 0: write after write");
  EXPECT_EQ(of({{{row(0)}, {row(1)}}, {{row(0)}, {row(2)}}}), "");  // both read
  EXPECT_EQ(of({{{}, {row(0)}}, {{}, {row(1)}}}), "");              // of other buffers
  EXPECT_EQ(of({{{}, {row(0, 0, 4)}}, {{}, {row(0, 4, 8)}}}), "");  // of other places
  EXPECT_EQ(of({{{}, {row(0, 0, 5)}}, {{row(0, 4, 8)}, {}}}), "1 on 0: read after write");
  EXPECT_EQ(of({{{}, {}, 64}, {{}, {}}, {{}, {}, 32}}), "2 on 0: write after write");  // scratch
  EXPECT_EQ(of({{{row(0)}, {row(0)}}, {{row(0)}, {}}}), "1 on 0: read after write");
}

TEST(Dependencies, OfStepsThatFillTheDeviceAreAChain) {
  const auto places = [](std::vector<StepRow> rows) {
    return recorded_ranges(steps_of(std::move(rows)), 4)[0].places;
  };
  const auto independent = [](bool fills) {
    return std::vector<StepRow>{{{}, {row(0)}, 0, fills}, {{}, {row(1)}, 0, fills}, {{}, {row(2)}, 0, false}};
  };
  EXPECT_EQ(count_streams(places(independent(false))), 3);
  EXPECT_EQ(count_streams(places(independent(true))), 2);
}

Strided random_view(Strided t, std::mt19937& random) {
  for (int turn = 0; turn < 4; ++turn) {
    const auto axis = static_cast<std::int64_t>(random() % t.rank());
    const std::int64_t size = t.shape()[static_cast<std::size_t>(axis)];
    const auto begin = static_cast<std::int64_t>(random() % static_cast<std::size_t>(size));
    const std::int64_t end =
        begin + 1 + static_cast<std::int64_t>(random() % static_cast<std::size_t>(size - begin));
    t = random() % 3 ? t.slice(axis, begin, end, 1 + static_cast<std::int64_t>(random() % 3))
                     : t.permute(random() % 2 ? Order{2, 0, 1} : Order{1, 0, 2});
  }
  return t;
}

TEST(Overlap, IsSeenWhereverBytesMeet) {
  std::mt19937 random(5);
  int apart = 0;
  for (int round = 0; round < 2000; ++round) {
    const Strided whole(round % 2 ? DType::f32 : DType::f64, {4, 5, 6}, {30, 6, 1}, 0);
    const Strided other(round % 3 ? DType::f32 : DType::i16, {4, 5, 6}, {1, 24, 4}, 0);
    const Strided a = random_view(whole, random), b = random_view(round % 5 ? whole : other, random);
    if (meet(covered_bytes(a), covered_bytes(b)))
      ASSERT_TRUE(may_overlap(a, b)) << round;
    else
      apart += !may_overlap(a, b);
  }
  EXPECT_GT(apart, 500);
}

TEST(Overlap, IsNotSeenBetweenTheSlicesOfAnArray) {
  const Strided whole(DType::f16, {2, 7, 3, 5}, {105, 1, 35, 7}, 11);  // channels last
  for (std::int64_t axis = 0; axis < 4; ++axis) {
    const std::int64_t size = whole.shape()[static_cast<std::size_t>(axis)];
    for (std::int64_t cut = 1; cut < size; ++cut) {
      EXPECT_FALSE(may_overlap(whole.slice(axis, 0, cut), whole.slice(axis, cut, size)));
      EXPECT_TRUE(may_overlap(whole.slice(axis, 0, cut + 1), whole.slice(axis, cut, size)));
    }
  }
}

StepOrder order_of_places(std::span<const StreamPlace> places) {
  const RecordedRange all{{0, places.size()}, {places.begin(), places.end()}};
  return order_of(places.size(), {&all, 1});
}

TEST(StreamPlaces, KeepDependenciesAndWaitForNothingElse) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t steps = 1 + random() % 40, most = 1 + random() % 5;
    std::vector<Dependency> dependencies;
    for (std::size_t step = 1; step < steps; ++step)
      for (std::size_t k = random() % 4; k > 0; --k) dependencies.push_back({step, random() % step});
    std::vector<StreamPlace> places = assign_streams(steps, dependencies, most);
    EXPECT_LE(count_streams(places), most);
    const StepOrder order = order_of_places(places);
    for (const Dependency& d : dependencies) EXPECT_TRUE(order.precedes(d.on, d.step));
    for (std::size_t step = 0; step < steps; ++step)
      for (std::size_t k = 0; k < places[step].after.size(); ++k) {
        const std::size_t on = places[step].after[k];
        EXPECT_NE(places[on].stream, places[step].stream);
        std::vector<StreamPlace> without = places;
        without[step].after.erase(without[step].after.begin() + static_cast<std::ptrdiff_t>(k));
        EXPECT_FALSE(order_of_places(without).precedes(on, step));
      }
  }
}

TEST(StreamPlaces, OfAChainAreOneStream) {
  std::vector<Dependency> chain;
  for (std::size_t step = 1; step < 9; ++step) chain.push_back({step, step - 1});
  const auto places = assign_streams(9, chain, 4);
  EXPECT_EQ(count_streams(places), 1);
  for (const StreamPlace& place : places) EXPECT_TRUE(place.after.empty());
}

}  // namespace
}  // namespace tenon::testing
