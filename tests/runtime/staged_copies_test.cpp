// Copies to and from a device's memory go through pinned memory, piece by piece; what is pinned goes
// straight.
#include "runtime/staged_copies.h"

#include <numeric>

#include "runtime/workspace.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

class StagedCopies : public ::testing::Test {
 protected:
  std::span<std::byte> stage(std::size_t bytes) {
    stage_ = opened.device.allocate(bytes, Space::pinned);
    return {stage_.data(), stage_.size()};
  }

  OpenDevice opened{default_device(), 1};

 private:
  Memory stage_;
};

// Of sizes that end a line, a piece and a stage, and of those that do not.
TEST_F(StagedCopies, BringEachByteThereAndBack) {
  for (const std::size_t of_stage : {128, 4096, 1 << 20})
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 128, 4095, 4097, 262'144, 300'001, 2'500'000}) {
      const std::vector<std::byte> given = numbered(bytes);
      const Memory there = opened.device.allocate(bytes + 64, Space::device);
      std::vector<std::byte> from = given, back(bytes);
      const std::span<std::byte> through = stage(of_stage);
      Uploads uploads(*opened.queue, through);
      uploads.copy(there.data(), from.data(), bytes / 3);
      uploads.copy(there.data() + bytes / 3, from.data() + bytes / 3, bytes - bytes / 3);
      std::ranges::fill(from, std::byte{0});  // nobody reads it any more
      opened.queue->wait();
      download(*opened.queue, through, back.data(), there.data(), bytes);
      EXPECT_EQ(back, given) << bytes << " bytes through " << of_stage;
    }
}

TEST_F(StagedCopies, OfTensorsLargerThanTheirStage) {
  const std::int64_t count = static_cast<std::int64_t>(2 * stage_bytes(std::size_t{1} << 40) + 12);
  Tensor large = Tensor::empty(DType::u8, {count});
  const std::vector<std::byte> given = numbered(static_cast<std::size_t>(count));
  std::memcpy(large.mutable_bytes(), given.data(), given.size());
  const Tensor back = opened.download(opened.upload(large));
  EXPECT_EQ(std::memcmp(back.bytes(), given.data(), given.size()), 0);
}

// Does nothing but to remember what is copied.
class Listed : public Queue {
 public:
  int threads() const override { return 1; }
  void copy(void*, const void* from, std::size_t) override { sources.push_back(from); }
  void wait() override {}
  std::unique_ptr<StepClock> clock(std::size_t) override { return nullptr; }
  std::vector<const void*> sources;

 private:
  void begin_run() override {}
  void end_run() noexcept override {}
};

TEST_F(StagedCopies, TakePinnedInputsAsTheyAre) {
  if (opened.device.shares_memory) GTEST_SKIP() << "the device reads the host's memory";
  const auto graph =
      graph_of("graph g(%x: f32[2,3], %y: f32[2,3]) {\n  %1 = add(%x, %y) : f32[2,3]\n  return %1\n}\n");
  Session session(graph);
  const std::vector<Tensor> pageable(2, Tensor::zeros(DType::f32, {2, 3}));
  const Tensor result = session.run(pageable)[0];
  EXPECT_EQ(result.storage()->space, Space::pinned);
  const auto plan = session.plan_for(pageable);
  Workspace workspace(opened.device);
  workspace.bind_staged(*plan);
  Listed queue;
  workspace.copy_inputs(*plan, std::vector{result, pageable[0]}, queue);
  ASSERT_EQ(queue.sources.size(), 2);
  EXPECT_EQ(queue.sources[0], result.bytes());
  EXPECT_NE(queue.sources[1], pageable[0].bytes());
}

// Each run's results are the next one's inputs, beside inputs that change as soon as a run is done.
TEST_F(StagedCopies, OfRunsThatFollowEachOther) {
  const auto graph = graph_of(
      "graph g(%x: f32[300,400], %y: f32[300,400]) {\n  %1 = add(%x, %y) : f32[300,400]\n  return %1\n}\n");
  Session session(graph);
  Tensor sum = Tensor::zeros(DType::f32, {300, 400}), added = Tensor::zeros(DType::f32, {300, 400});
  auto* const numbers = reinterpret_cast<float*>(added.mutable_bytes());
  for (int run = 1; run <= 4; ++run) {
    std::fill_n(numbers, 300 * 400, static_cast<float>(run));
    sum = session.run(std::vector{sum, added})[0];
  }
  for (const Index& place : {Index{0, 0}, Index{150, 200}, Index{299, 399}})
    EXPECT_EQ(sum.get_double(place), 10);
}

}  // namespace
}  // namespace tenon::testing
