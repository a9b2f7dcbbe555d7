// After its first run, a signature allocates nothing. A program of its own: it counts every allocation.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

// Every way to memory ends in one of these.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
}

namespace tenon::testing {
namespace {

void expect_no_allocations(const char* text, std::vector<Bindings> signatures) {
  const auto graph = graph_of(text);
  for (const int threads : {1, 2}) {
    Session session(graph, {.threads = threads});
    std::vector<std::vector<Tensor>> inputs, outputs;
    for (const Bindings& sizes : signatures) {
      inputs.push_back(inputs_of(*graph, sizes));
      outputs.push_back(session.run(inputs.back()));
    }
    const long before = allocations;
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < inputs.size(); ++i) session.run_into(inputs[i], outputs[i]);
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST(Allocation, TheCounterCounts) {
  const long before = allocations;
  std::vector<int> some(1000);
  EXPECT_GT(allocations, before + (some.empty() ? 1 : 0));
}

TEST(Allocation, RunsOfAKnownSignatureAllocateNothing) {
  expect_no_allocations(residual_net, {{{"N", 1}}, {{"N", 2}}});
  expect_no_allocations(u_net, {{{"N", 2}}});
  expect_no_allocations(transformer, {{{"N", 1}, {"seq", 5}}, {{"N", 2}, {"seq", 9}}});
}

}  // namespace
}  // namespace tenon::testing
