// What the soft drivers promise: right programs give right numbers under every schedule, and each misuse is
// found.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "test_session.h"

namespace softgpu {
namespace {

enum {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidImage = 200,
  kNoBinary = 209,
  kInvalidHandle = 400,
  kNotFound = 500
};
enum { kIllegalAddress = 700, kOutOfResources = 701, kLaunchFailed = 719, kCaptureUnsupported = 900 };
enum { kCaptureInvalidated = 901, kCaptureUnjoined = 904 };
constexpr int kCompilationFailed = 6, kInvalidOption = 5;

struct Setting {
  const char* name;
  Vendor vendor;
  const char* schedule;
  const char* architecture = nullptr;
};

/// Runs `body` in a child with this environment; its exit code is the number of checks that failed.
template <class Body>
[[noreturn]] void run_alone(const Setting& s, Body body) {
  setenv("SOFTGPU_SCHED", s.schedule, 1);
  if (s.architecture) setenv("SOFTGPU_ARCH", s.architecture, 1);
  Session session(s.vendor);
  session.load_kernels();
  body(session);
  exit(session.failures() != 0);
}

std::vector<float> counted(size_t count, int modulus) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) values[i] = float(i % modulus);
  return values;
}

std::string setting_name(const testing::TestParamInfo<Setting>& test) { return test.param.name; }

#define EXPECT_HOLDS(setting, ...) \
  EXPECT_EXIT(run_alone(setting, __VA_ARGS__), testing::ExitedWithCode(0), "")
/// The checks hold and the driver says `message`.
#define EXPECT_SAYS(setting, body, message) \
  EXPECT_EXIT(run_alone(setting, body), testing::ExitedWithCode(0), message)

// ---- right programs

class RightProgram : public testing::TestWithParam<Setting> {};

void sums_over_two_streams(Session& g) {
  const int n = 5000;
  const std::vector<float> a = counted(n, 17), b = counted(n, 5);
  const Address da = g.new_floats(a), db = g.new_floats(b), dc = g.new_memory(n * 4), total = g.new_memory(4);
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
  const Address z = g.new_memory(n * 4), total = g.new_memory(4);
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

// ---- misuse, with both vendors under the schedule that holds commands

class Misuse : public testing::TestWithParam<Setting> {};

INSTANTIATE_TEST_SUITE_P(Vendors, Misuse,
                         testing::Values(Setting{"cuda", Vendor::cuda, "lazy"},
                                         Setting{"hip", Vendor::hip, "lazy"}),
                         setting_name);

TEST_P(Misuse, HostReadsDeviceMemory) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(4096);
    fprintf(stderr, "%f\n", double(*reinterpret_cast<volatile float*>(x + 8)));
  };
  EXPECT_EXIT(run_alone(GetParam(), body), testing::KilledBySignal(SIGSEGV),
              "HOST code touched device memory 0x[0-9a-f]+: offset 8 of allocation #1 \\(4096 bytes\\)");
}

TEST_P(Misuse, AStreamDoesNotWaitForAnother) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_floats({1, 1, 1, 1}), y = g.new_memory(16);
    void *first = g.new_stream(), *second = g.new_stream();
    float* result = g.pinned_floats(4);
    g.run("add", 1, 4, first, x, x, y, 4);
    g.to_host_async(result, y, 16, second);
    g.synchronise(second);
    g.expect(std::isnan(result[0]), "the second stream read what the first had yet to write");
  });
}

TEST_P(Misuse, AStreamOverwritesWhatAnotherHasYetToRead) {
  Setting others = GetParam();
  others.schedule = "others";
  EXPECT_HOLDS(others, [](Session& g) {
    const Address x = g.new_floats({5, 5, 5, 5}), y = g.new_memory(16);
    void *first = g.new_stream(), *second = g.new_stream();
    float* result = g.pinned_floats(4);
    g.run("add", 1, 4, first, x, x, y, 4);
    g.to_host_async(result, y, 16, first);
    g.fill32_async(x, 0, 4, second);
    g.synchronise(first);
    g.expect(result[0] == 0, "the second stream came first");
  });
}

TEST_P(Misuse, HostReadsBeforeItWaits) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_floats({1, 1, 1, 1});
    void* stream = g.new_stream();
    float* result = g.pinned_floats(4);
    g.to_host_async(result, x, 16, stream);
    g.expect(std::isnan(result[0]), "nothing has arrived");
    g.synchronise(stream);
    g.expect(result[0] == 1, "now it has");
  });
}

TEST_P(Misuse, KernelUsesFreedMemory) {
  const auto body = [](Session& g) {
    const Address x = g.new_floats({1, 1, 1, 1});
    void *stream = g.new_stream(), *graph = nullptr, *executable = nullptr;
    g.begin_capture(stream, 0);
    g.run("increase", 1, 4, stream, x, 1.0f);
    g.end_capture(stream, &graph);
    g.instantiate(&executable, graph, 0);
    g.free(x);
    g.expect(g.run("increase", 1, 4, stream, x, 1.0f) == kInvalidValue, "a freed argument is refused");
    g.launch_graph(executable, stream);
    g.expect(g.synchronise(stream) == kIllegalAddress, "the graph that holds it fails");
    g.expect(g.synchronise_device() == kIllegalAddress, "the error stays");
  };
  EXPECT_SAYS(GetParam(), body,
              "kernel 'increase' died .*offset 0 of allocation #1 \\(16 bytes\\), already freed");
}

TEST_P(Misuse, WrongNumberOfArguments) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.expect(g.run("increase", 1, 4, nullptr, x) == kInvalidValue, "too few");
    g.expect(g.run("increase", 1, 4, nullptr, x, 1.0f, 2) == kInvalidValue, "too many");
    g.expect(g.run("nothing", 1, 4, nullptr) == 0, "none");
  };
  EXPECT_SAYS(GetParam(), body,
              "increase takes 2 arguments, 1 given(.|\n)*increase takes 2 arguments, 3 given");
}

TEST_P(Misuse, LaunchBeyondLimits) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(4096);
    g.expect(g.run("increase", 1, 1025, nullptr, x, 1.0f) == kInvalidValue, "1025 threads");
    g.expect(g.run("increase", 0, 32, nullptr, x, 1.0f) == kInvalidValue, "no block");
    g.expect(g.run("sum", 1, 512, nullptr, x, x, 4) == kOutOfResources, "more than __launch_bounds__");
    void* arguments[] = {nullptr};
    const auto with_shared = [&](unsigned bytes) {
      return g.launch(g.kernel("nothing"), 1, 1, 1, 32, 1, 1, bytes, nullptr, arguments, nullptr);
    };
    g.expect(with_shared(70 << 10) == kInvalidValue, "too much dynamic shared memory");
    constexpr int kMaxDynamicBytes = 8;
    const int allowed = g.set_function_attribute(g.kernel("nothing"), kMaxDynamicBytes, 70 << 10);
    g.expect(allowed == (g.is_hip() ? kInvalidValue : 0), "more where the device has more");
    g.expect(with_shared(70 << 10) == (g.is_hip() ? kInvalidValue : 0), "then it is launched");
  };
  EXPECT_SAYS(GetParam(), body,
              "1025x1x1 threads is beyond the limits(.|\n)*sum: 512 threads, __launch_bounds__\\(256\\)");
}

TEST_P(Misuse, DivergentBarrier) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.run("divergent_barrier", 1, 128, nullptr, x);
    g.expect(g.synchronise_device() == kLaunchFailed, "the launch fails");
  };
  EXPECT_SAYS(GetParam(), body,
              "threads of a block wait in different __syncthreads(.|\n)*'divergent_barrier' ended");
}

TEST_P(Misuse, KernelWritesPastTheEnd) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.run("increase", 1, 257, nullptr, x, 1.0f);
    g.expect(g.synchronise_device() == kIllegalAddress, "the launch fails");
  };
  EXPECT_SAYS(GetParam(), body,
              "kernel 'increase' died .* 0 bytes past the end of allocation #1 \\(1024 bytes\\)");
}

TEST_P(Misuse, KernelWritesIntoTheSlackAtTheEnd) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1000);
    g.run("increase", 1, 256, nullptr, x, 1.0f);
    g.free(x);
  };
  // NaN + 1 has other bits than NaN of all ones on x86: the quiet NaN keeps its payload, so write a number
  // instead.
  const auto writes = [](Session& g) {
    const Address x = g.new_memory(1000), ones = g.new_floats(std::vector<float>(256, 1));
    g.run("add", 1, 256, nullptr, ones, ones, x, 256);
    g.free(x);
  };
  EXPECT_HOLDS(GetParam(), body);
  EXPECT_SAYS(GetParam(), writes, "bytes past the end of allocation #1 \\(1000 bytes\\) were overwritten");
}

TEST_P(Misuse, AsynchronousCopyWithoutWait) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_floats(counted(256, 256)), y = g.new_memory(1024);
    g.run("reverse_without_wait", 1, 256, nullptr, x, y);
    g.expect(std::isnan(g.floats(y, 256)[0]), "the copy has not arrived");
  });
}

TEST_P(Misuse, MemoryOfStreamOrderUsedTooEarly) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    void *first = g.new_stream(), *second = g.new_stream();
    Address x = 0;
    g.allocate_async(&x, 1024, first);
    g.run("increase", 1, 4, second, x, 1.0f);
    g.expect(g.synchronise(second) == kIllegalAddress, "the second stream did not wait for the allocation");
  });
}

TEST_P(Misuse, IsRefusedByTheDriver) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_memory(1024);
    std::vector<float> host(1024);
    void* found = nullptr;
    Address big = 0;
    g.expect(g.free(x + 4) == kInvalidValue && g.free(0x1234) == kInvalidValue, "free of an unknown address");
    g.expect(g.to_device(x, host.data(), 1028) == kInvalidValue, "a copy past the end");
    g.expect(g.run("increase", 1, 4, nullptr, host.data(), 1.0f) == kInvalidValue,
             "a host pointer as argument");
    g.expect(g.allocate(&big, 1ull << 40) == kOutOfMemory, "more memory than there is");
    g.expect(g.function(&found, g.module, "missing") == kNotFound, "an unknown kernel");
    g.expect(g.function(&found, g.module, "with_cpp_linkage") == kNotFound, "a kernel without extern \"C\"");
    g.expect(g.synchronise(&found) == kInvalidHandle, "an unknown stream");
    g.expect(g.free(x) == 0 && g.free(x) == kInvalidValue, "free twice");
    g.expect(g.to_host(host.data(), x, 4) == kInvalidValue, "a copy from freed memory");
    std::string broken = g.image;
    broken[broken.size() / 2] ^= 1;
    g.expect(g.load(&found, broken.data()) == kInvalidImage, "a damaged image");
    const char text[64] = "this is no image";
    g.expect(g.load(&found, text) == kInvalidImage, "no image at all");
  });
}

TEST_P(Misuse, OfCaptures) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_memory(1024);
    void *first = g.new_stream(), *second = g.new_stream(), *event = g.new_event(), *graph = nullptr;
    Address y = 0;
    g.begin_capture(first, 0);
    g.expect(g.allocate(&y, 4) == kCaptureUnsupported, "an allocation during a capture");
    g.expect(g.end_capture(first, &graph) == kCaptureInvalidated, "it fails the capture");
    g.begin_capture(first, 0);
    g.record(event, first);
    g.stream_waits(second, event, 0);
    g.run("increase", 1, 4, second, x, 1.0f);
    g.expect(g.end_capture(first, &graph) == kCaptureUnjoined, "a stream that did not join");
  });
}

// ---- what the device says of itself

class Device : public Misuse {};
INSTANTIATE_TEST_SUITE_P(Vendors, Device,
                         testing::Values(Setting{"cuda", Vendor::cuda, "eager"},
                                         Setting{"hip", Vendor::hip, "eager"}),
                         setting_name);

TEST_P(Device, HasAttributes) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    struct Row {
      const char* name;
      int cuda, hip, cuda_value, hip_value;
    };
    for (const Row& r : {Row{"threads of a block", 1, 56, 1024, 1024}, Row{"warp size", 10, 87, 32, 64},
                         Row{"multiprocessors", 16, 63, 132, 304}, Row{"clock", 13, 5, 1980000, 2100000},
                         Row{"memory clock", 36, 60, 2619000, 1300000}, Row{"memory bus", 37, 59, 5120, 8192},
                         Row{"L2", 38, 19, 50 << 20, 4 << 20}, Row{"major", 75, 23, 9, 9},
                         Row{"minor", 76, 61, 0, 4}, Row{"shared memory", 8, 74, 48 << 10, 64 << 10},
                         Row{"shared memory by opt-in", 97, 75, 227 << 10, 64 << 10}}) {
      int value = -1;
      g.expect(g.device_attribute(&value, g.is_hip() ? r.hip : r.cuda, 0) == 0, r.name);
      g.expect(value == (g.is_hip() ? r.hip_value : r.cuda_value), r.name);
    }
    size_t bytes = 0;
    g.expect(g.total_memory(&bytes, 0) == 0 && bytes == size_t(4) << 30, "the memory");
  });
}

TEST_P(Device, TellsOfItsFunctions) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    int threads = 0, blocks = 0;
    g.expect(g.function_attribute(&threads, 0, g.kernel("sum")) == 0 && threads == 256, "its most threads");
    g.expect(g.active_blocks(&blocks, g.kernel("sum"), 256, 0) == 0 && blocks == 8,
             "active blocks by threads");
    g.expect(g.active_blocks(&blocks, g.kernel("sum"), 256, 32 << 10) == 0, "active blocks");
    g.expect(blocks == (g.is_hip() ? 2 : 7), "active blocks by shared memory");
  });
}

TEST_P(Device, RunsTheWaveSizeOfItsArchitecture) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address out = g.new_memory(4);
    int size = 0;
    g.run("wave_size", 1, 1, nullptr, out);
    g.expect(g.to_host(&size, out, 4) == 0 && size == (g.is_hip() ? 64 : 32), "the wave size");
  });
}

TEST_P(Device, IsOneOfSeveral) {
  setenv("SOFTGPU_DEVICES", "2", 1);
  const auto body = [](Session& g) {
    int count = 0;
    g.expect(g.device_count(&count) == 0 && count == 2, "two devices");
    const Address first = g.new_floats({1, 2, 3, 4});
    g.use_device(1);
    void* module = nullptr;
    g.expect(g.run("increase", 1, 4, nullptr, first, 1.0f) == kInvalidHandle, "a kernel of the other device");
    g.expect(g.load(&module, g.image.data()) == 0, "a module for the second device");
    g.module = module;
    const Address second = g.new_memory(16);
    g.expect(g.run("increase", 1, 4, nullptr, first, 1.0f) == kInvalidValue, "memory of the other device");
    g.expect(g.on_device(second, first, 16) == 0, "a copy between devices");
    g.expect(g.run("increase", 1, 4, nullptr, second, 1.0f) == 0, "its own memory");
    g.expect(g.floats(second, 4)[3] == 5, "numbers of the second device");
    g.run("increase", 1, 1024, nullptr, second, 1.0f);
    g.expect(g.synchronise_device() == kIllegalAddress, "an error of the second device");
    g.use_device(0);
    g.expect(g.floats(first, 4)[3] == 4 && g.synchronise_device() == 0, "the first goes on");
  };
  EXPECT_SAYS(GetParam(), body, "of device 0, on another device");
  unsetenv("SOFTGPU_DEVICES");
}

TEST_P(Device, CopiesRows) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_floats(counted(12, 100));
    float part[4] = {};
    void* stream = g.new_stream();
    int status = -1;
    if (g.is_hip()) {
      int (*copy)(void*, size_t, Address, size_t, size_t, size_t, int, void*);
      g.driver_function(copy, "hipMemcpy2DAsync");
      status = copy(part, 8, x + 4, 16, 8, 2, 2, stream);
    } else {
      struct {
        size_t x, y;
        int type;
        const void* host;
        Address device;
        void* array;
        size_t pitch;
      } from{4, 0, 2, nullptr, x, nullptr, 16}, to{0, 0, 1, part, 0, nullptr, 8};
      struct {
        decltype(from) source, target;
        size_t width, height;
      } rows{from, to, 8, 2};
      int (*copy)(const void*, void*);
      g.driver_function(copy, "cuMemcpy2DAsync_v2");
      status = copy(&rows, stream);
    }
    g.expect(status == 0 && g.synchronise(stream) == 0, "two rows of two");
    g.expect(part[0] == 1 && part[1] == 2 && part[2] == 5 && part[3] == 6, "their numbers");
  });
}

TEST(Hip, NamesItsArchitecture) {
  EXPECT_HOLDS((Setting{"hip", Vendor::hip, "eager"}), [](Session& g) {
    constexpr size_t kSize = 1472, kArchitecture = 1160;  // hipDeviceProp_t and its gcnArchName, ROCm 6 and 7
    char properties[kSize];
    int (*get)(void*, int);
    g.driver_function(get, "hipGetDevicePropertiesR0600");
    g.expect(get(properties, 0) == 0 && strcmp(properties + kArchitecture, "gfx942") == 0, "gfx942");
  });
}

TEST(Cuda, RefusesAnImageOfAnotherArchitecture) {
  EXPECT_HOLDS((Setting{"cuda", Vendor::cuda, "eager", "sm_80"}), [](Session& g) {
    setenv("SOFTGPU_ARCH", "sm_90", 1);
    void* module = nullptr;
    g.expect(g.compile_text(kKernels) == 0, "compiled for sm_90");
    g.expect(g.load(&module, g.image.data()) == kNoBinary, "not for sm_80");
  });
}

// ---- the compiler

TEST_P(Device, CompilerNamesTheMistake) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const char wrong[] =
        "#include \"emulation.h\"\n\nextern \"C\" __global__ void k(int* x) { x[0] = unknown_name; }";
    g.expect(g.compile_text(wrong) == kCompilationFailed, "it fails");
    g.expect(g.log_text.find("kernels.gpu:3") != std::string::npos, "the line");
    g.expect(g.log_text.find("unknown_name") != std::string::npos, "the name");
    g.expect(g.compile_text(kKernels, nullptr, "--bogus") == kInvalidOption, "an unknown option");
  });
}

}  // namespace
}  // namespace softgpu
