// Right programs give right numbers with both vendors, at both wave sizes, under every schedule.
#include <cmath>
#include <numeric>

#include "test_child.h"

namespace softgpu {
namespace {

class RightProgram : public testing::TestWithParam<Setting> {};

void sums_over_two_streams(Session& g) {
  const int n = 5000;
  const size_t bytes = n * sizeof(float);
  const std::vector<float> a = counted(n, 17), b = counted(n, 5);
  const Address da = g.new_floats(a), db = g.new_floats(b), dc = g.new_memory(bytes), total = g.new_memory(4);
  g.expect(std::isnan(g.floats(dc, 1)[0]), "fresh memory is NaN");
  void *first = g.new_stream(), *second = g.new_stream(), *begin = g.new_event(), *added = g.new_event();
  float* result = g.pinned_floats(1);
  g.fill32_async(total, 0, 1, second);
  g.record(begin, first);
  g.expect(g.run("add", 20, 256, first, da, db, dc, n) == 0, "add is launched");
  g.record(added, first);
  g.stream_waits(second, added, 0);
  g.expect(g.run("sum", 4, 256, second, dc, total, n) == 0, "sum is launched");
  g.to_host_async(result, total, 4, second);
  g.expect(g.synchronise(second) == 0, "the second stream ends");
  const double want = std::accumulate(a.begin(), a.end(), 0.0) + std::accumulate(b.begin(), b.end(), 0.0);
  g.expect(*result == want, "the sum over two streams");
  float ms = -1;
  g.expect(g.elapsed(&ms, begin, added) == 0 && ms >= 0, "the time between two events");
}

void captures_a_diamond(Session& g) {
  const int n = 512;
  const Address x = g.new_floats(std::vector<float>(n, 0)), y = g.new_floats(std::vector<float>(n, 1));
  const Address z = g.new_memory(n * sizeof(float)), total = g.new_memory(4);
  void *first = g.new_stream(), *second = g.new_stream(), *forked = g.new_event(), *joined = g.new_event();
  float* result = g.pinned_floats(1);
  g.expect(g.begin_capture(first, 0) == 0, "a capture begins");
  g.run("increase", 2, 256, first, x, 1.0f);
  g.record(forked, first);
  g.stream_waits(second, forked, 0);
  g.run("add", 2, 256, second, x, y, z, n);
  g.record(joined, second);
  g.fill32_async(total, 0, 1, first);
  g.stream_waits(first, joined, 0);
  g.run("sum", 2, 256, first, z, total, n);
  g.to_host_async(result, total, 4, first);
  void *graph = nullptr, *executable = nullptr;
  g.expect(g.end_capture(first, &graph) == 0, "the capture ends");
  g.expect(g.instantiate(&executable, graph, 0) == 0, "the graph is instantiated");
  for (int i = 0; i < 20; i++) g.expect(g.launch_graph(executable, first) == 0, "the graph is launched");
  g.expect(g.synchronise(first) == 0 && *result == n * 21, "20 launches of a graph");
}

void allocates_in_stream_order(Session& g) {
  void* stream = g.new_stream();
  float* result = g.pinned_floats(256);
  Address x = 0;
  g.expect(g.allocate_async(&x, 1024, stream) == 0, "memory in stream order");
  g.fill32_async(x, 0, 256, stream);
  g.run("increase", 1, 256, stream, x, 2.0f);
  g.to_host_async(result, x, 1024, stream);
  g.expect(g.free_async(x, stream) == 0, "freed in stream order");
  g.expect(g.synchronise(stream) == 0 && result[255] == 2, "its numbers");
}

void uses_modules(Session& g) {
  const Address x = g.new_floats({1, 1, 1, 1});
  g.expect(g.run(g.lowered.c_str(), 1, 4, nullptr, x) == 0, "a template's instance is launched");
  g.expect(g.floats(x, 4)[3] == 3, "a template's instance by name expression");
  Address factors = 0;
  size_t bytes = 0;
  g.expect(g.variable(&factors, &bytes, g.module, "factors") == 0 && bytes == 16, "a module's variable");
  g.expect(g.floats(factors, 4)[2] == 3, "its first values");
  const float seven = 7;
  g.expect(g.to_device(factors + 4, &seven, 4) == 0, "one of them is written");
  g.run("multiply", 1, 4, nullptr, x);
  g.expect(g.floats(x, 4) == std::vector<float>({3, 21, 9, 12}), "the kernel reads it");
}

void copies_async(Session& g) {
  const Address x = g.new_floats(counted(256, 256)), y = g.new_memory(1024);
  g.run("reverse_async", 1, 256, nullptr, x, y);
  g.expect(g.floats(y, 256)[0] == 255, "a copy to shared memory");
}

TEST_P(RightProgram, GivesRightNumbers) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    sums_over_two_streams(g);
    captures_a_diamond(g);
    allocates_in_stream_order(g);
    uses_modules(g);
    copies_async(g);
    g.expect(g.unload(g.module) == 0 && g.synchronise_device() == 0, "the end");
  });
}

INSTANTIATE_TEST_SUITE_P(Schedules, RightProgram,
                         testing::Values(Setting{"cuda_eager", Vendor::cuda, "eager"},
                                         Setting{"cuda_lazy", Vendor::cuda, "lazy"},
                                         Setting{"cuda_others", Vendor::cuda, "others"},
                                         Setting{"cuda_random", Vendor::cuda, "random:1:200"},
                                         Setting{"hip_eager", Vendor::hip, "eager"},
                                         Setting{"hip_lazy", Vendor::hip, "lazy"},
                                         Setting{"hip_others", Vendor::hip, "others"},
                                         Setting{"hip_random", Vendor::hip, "random:2:200"},
                                         Setting{"hip_wave_32", Vendor::hip, "lazy", "gfx1100"}),
                         setting_name);

}  // namespace
}  // namespace softgpu
