// Each misuse is found, with both vendors.
#include <cmath>
#include <thread>

#include "test_child.h"

namespace softgpu {
namespace {

class Misuse : public testing::TestWithParam<Setting> {};

INSTANTIATE_TEST_SUITE_P(Vendors, Misuse,
                         testing::Values(Setting{"cuda", Vendor::cuda, "lazy"},
                                         Setting{"hip", Vendor::hip, "lazy"}),
                         setting_name);

TEST_P(Misuse, HostReadsDeviceMemory) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(4096);
    fprintf(stderr, "%f\n", double(*static_cast<volatile float*>(pointer(x + 8))));
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
    g.expect(g.run("increase", 1, 4, stream, x, 1.0f) == invalid_value, "a freed argument is refused");
    g.launch_graph(executable, stream);
    g.expect(g.synchronise(stream) == illegal_address, "the graph that holds it fails");
    g.expect(g.synchronise_device() == illegal_address, "the error stays");
  };
  EXPECT_SAYS(GetParam(), body,
              "kernel 'increase' died .*offset 0 of allocation #1 \\(16 bytes\\), already freed");
}

TEST_P(Misuse, WrongNumberOfArguments) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.expect(g.run("increase", 1, 4, nullptr, x) == invalid_value, "too few");
    g.expect(g.run("increase", 1, 4, nullptr, x, 1.0f, 2) == invalid_value, "too many");
    g.expect(g.run("nothing", 1, 4, nullptr) == 0, "none");
  };
  EXPECT_SAYS(GetParam(), body,
              "increase takes 2 arguments, 1 given(.|\n)*increase takes 2 arguments, 3 given");
}

TEST_P(Misuse, LaunchBeyondLimits) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(4096);
    g.expect(g.run("increase", 1, 1025, nullptr, x, 1.0f) == invalid_value, "1025 threads");
    g.expect(g.run("increase", 0, 32, nullptr, x, 1.0f) == invalid_value, "no block");
    g.expect(g.run("nothing", 1, 129, nullptr) == out_of_resources, "a bound of the kernel's namespace");
    g.expect(g.run("sum", 1, 512, nullptr, x, x, 4) == out_of_resources, "more than __launch_bounds__");
    void* arguments[] = {nullptr};
    const auto with_shared = [&](unsigned bytes) {
      return g.launch(g.kernel("nothing"), 1, 1, 1, 32, 1, 1, bytes, nullptr, arguments, nullptr);
    };
    g.expect(with_shared(70 << 10) == invalid_value, "too much dynamic shared memory");
    constexpr int kMaxDynamicBytes = 8;
    const int allowed = g.set_function_attribute(g.kernel("nothing"), kMaxDynamicBytes, 70 << 10);
    g.expect(allowed == (g.is_hip() ? invalid_value : 0), "more where the device has more");
    g.expect(with_shared(70 << 10) == (g.is_hip() ? invalid_value : 0), "then it is launched");
  };
  EXPECT_SAYS(GetParam(), body,
              "1025x1x1 threads is beyond the limits(.|\n)*sum: 512 threads, __launch_bounds__\\(256\\)");
}

TEST_P(Misuse, DivergentBarrier) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.run("divergent_barrier", 1, 128, nullptr, x);
    g.expect(g.synchronise_device() == launch_failed, "the launch fails");
  };
  EXPECT_SAYS(GetParam(), body,
              "threads of a block wait in different __syncthreads(.|\n)*'divergent_barrier' ended");
}

TEST_P(Misuse, DivergentShuffle) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.run("divergent_shuffle", 1, 64, nullptr, x);
    g.expect(g.synchronise_device() == launch_failed, "the launch fails");
  };
  EXPECT_SAYS(GetParam(), body, "deadlock: not all threads reached(.|\n)*waits in a shuffle at kernels.gpu:");
}

TEST_P(Misuse, TooMuchSharedMemory) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.run("too_much_shared", 1, 64, nullptr, x);
    g.expect(g.synchronise_device() == launch_failed, "the launch fails");
  };
  EXPECT_SAYS(GetParam(), body, "gpusim: too much shared memory(.|\n)*'too_much_shared' ended its device");
}

TEST_P(Misuse, KernelWritesPastTheEnd) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1024);
    g.run("increase", 1, 257, nullptr, x, 1.0f);
    g.expect(g.synchronise_device() == illegal_address, "the launch fails");
  };
  EXPECT_SAYS(GetParam(), body,
              "kernel 'increase' died .* 0 bytes past the end of allocation #1 \\(1024 bytes\\)");
}

TEST_P(Misuse, KernelWritesIntoTheSlackAtTheEnd) {
  const auto body = [](Session& g) {
    const Address x = g.new_memory(1000), ones = g.new_floats(std::vector<float>(256, 1));
    g.run("add", 1, 256, nullptr, ones, ones, x, 256);
    g.free(x);
  };
  EXPECT_SAYS(GetParam(), body, "bytes past the end of allocation #1 \\(1000 bytes\\) were overwritten");
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
    g.expect(g.synchronise(second) == illegal_address, "the second stream did not wait for the allocation");
  });
}

TEST_P(Misuse, IsRefusedByTheDriver) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_memory(1024);
    std::vector<float> host(1024);
    void* found = nullptr;
    Address big = 0;
    g.expect(g.free(x + 4) == invalid_value && g.free(0x1234) == invalid_value, "free of an unknown address");
    g.expect(g.to_device(x, host.data(), 1028) == invalid_value, "a copy past the end");
    g.expect(g.run("increase", 1, 4, nullptr, host.data(), 1.0f) == invalid_value,
             "a host pointer as argument");
    g.expect(g.allocate(&big, 1ull << 40) == out_of_memory, "more memory than there is");
    g.expect(g.function(&found, g.module, "missing") == not_found, "an unknown kernel");
    g.expect(g.function(&found, g.module, "with_cpp_linkage") == not_found, "a kernel without extern \"C\"");
    g.expect(g.synchronise(&found) == invalid_handle, "an unknown stream");
    g.expect(g.free(x) == 0, "free");
    g.expect(g.free(x) == invalid_value, "free twice");
    g.expect(g.to_host(host.data(), x, 4) == invalid_value, "a copy from freed memory");
    std::string broken = g.image;
    broken[broken.size() / 2] ^= 1;
    g.expect(g.load(&found, broken.data()) == invalid_image, "a damaged image");
    const char text[64] = "this is no image";
    g.expect(g.load(&found, text) == invalid_image, "no image at all");
  });
}

TEST_P(Misuse, OfCaptures) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_memory(1024);
    void *first = g.new_stream(), *second = g.new_stream(), *event = g.new_event(), *graph = nullptr;
    Address y = 0;
    g.begin_capture(first, 0);
    g.expect(g.allocate(&y, 4) == capture_unsupported, "an allocation during a capture");
    g.expect(g.end_capture(first, &graph) == capture_invalidated, "it fails the capture");
    g.begin_capture(first, 0);
    g.record(event, first);
    g.stream_waits(second, event, 0);
    g.run("increase", 1, 4, second, x, 1.0f);
    g.expect(g.end_capture(first, &graph) == capture_unjoined, "a stream that did not join");
    g.begin_capture(first, 0);
    g.record(event, first);
    g.stream_waits(second, event, 0);
    g.expect(g.end_capture(second, &graph) == capture_unmatched, "the end in a stream that joined");
    g.stream_waits(first, g.new_event(), 0);
    g.record(event, second);
    g.stream_waits(first, event, 0);
    g.expect(g.end_capture(first, &graph) == success, "the end where it began");
    g.expect(g.stream_waits(second, event, 0) == captured_event, "a wait for what was captured");
    g.begin_capture(first, 0);
    float pageable = 0;
    g.expect(g.to_host_async(&pageable, x, 4, first) == capture_unsupported, "a copy to pageable memory");
    g.expect(g.end_capture(first, &graph) == capture_invalidated, "it fails the capture");
  });
}

TEST_P(Misuse, OfEventsInCaptures) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    void *first = g.new_stream(), *second = g.new_stream(), *outside = g.new_event(), *inside = g.new_event();
    void* graph = nullptr;
    g.record(outside, second);
    g.begin_capture(first, 0);
    g.expect(g.stream_waits(first, outside, 0) == capture_isolation, "a wait for what is not captured");
    g.expect(g.end_capture(first, &graph) == capture_invalidated, "it fails the capture");
    g.begin_capture(first, 0);
    g.begin_capture(second, 0);
    g.record(inside, first);
    float ms = 0;
    g.expect(g.elapsed(&ms, outside, inside) == captured_event, "the time of a captured event");
    g.expect(g.stream_waits(second, inside, 0) == capture_merge, "a wait for another capture");
    g.expect(g.end_capture(first, &graph) == capture_invalidated, "it fails the one");
    g.expect(g.end_capture(second, &graph) == capture_invalidated, "and the other");
  });
}

// x grows by 1 in a launch; y is x as it is then, and comes of another stream. Without the edge, some launch
// takes the x of the one before.
void expect_edge(Session& g, bool waits, bool shows) {
  const Address x = g.new_floats({0, 0, 0, 0}), y = g.new_memory(16), zero = g.new_floats({0, 0, 0, 0});
  void *first = g.new_stream(), *second = g.new_stream(), *begin = g.new_event(), *end = g.new_event();
  void *graph = nullptr, *executable = nullptr;
  g.begin_capture(first, 0);
  g.record(begin, first);
  g.stream_waits(second, begin, 0);
  g.run("increase", 1, 4, first, x, 1.0f);
  if (waits) g.record(begin, first), g.stream_waits(second, begin, 0);
  g.run("add", 1, 4, second, x, zero, y, 4);
  g.record(end, second);
  g.stream_waits(first, end, 0);
  g.expect(g.end_capture(first, &graph) == 0 && g.instantiate(&executable, graph, 0) == 0, "a graph");
  bool wrong = false;
  for (int launch = 1; launch <= 2; launch++) {
    g.launch_graph(executable, first);
    g.synchronise(first);
    wrong = wrong || g.floats(y, 4)[0] != float(launch);
  }
  g.expect(wrong == shows, waits ? "an edge orders two nodes" : "a missing edge shows");
}

TEST_P(Misuse, AGraphLacksAnEdge) {
  Setting setting = GetParam();
  for (const char* schedule : {"lazy", "others", "eager"}) {
    setting.schedule = schedule;
    EXPECT_HOLDS(setting, [&](Session& g) {
      expect_edge(g, true, false);
      expect_edge(g, false, std::string(schedule) != "eager");
    });
  }
}

TEST_P(Misuse, OfCapturesOfOtherThreads) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    constexpr int kThreadLocal = 1;
    void *stream = g.new_stream(), *graph = nullptr;
    Address y = 0;
    const auto elsewhere = [&](auto call) { std::thread([&] { g.use_device(0), call(); }).join(); };
    g.begin_capture(stream, kThreadLocal);
    elsewhere([&] { g.expect(g.allocate(&y, 4) == success, "another thread may allocate"); });
    elsewhere([&] { g.expect(g.end_capture(stream, &graph) == capture_wrong_thread, "but not end it"); });
    g.expect(g.end_capture(stream, &graph) == success, "the capture ends where it began");
    g.begin_capture(stream, kThreadLocal);
    g.expect(g.allocate(&y, 4) == capture_unsupported, "its own thread may not allocate");
    g.expect(g.end_capture(stream, &graph) == capture_invalidated, "that fails the capture");
  });
}

// Each field of a description that is right, one at a time.
TEST(TensorMaps, AreRefusedAsDocumented) {
  struct Map {
    int dtype = 6;  // float16
    unsigned rank = 2;
    Address address = 0x10000;
    uint64_t extent[2] = {100, 70}, stride[1] = {208};
    unsigned box[2] = {64, 128}, step[2] = {1, 1};
    int interleave = 0, swizzle = 3, promotion = 2, fill = 0;
  };
  EXPECT_HOLDS((Setting{"cuda", Vendor::cuda, "lazy"}), [](Session& g) {
    int (*encode)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const unsigned*,
                  const unsigned*, int, int, int, int);
    g.driver_function(encode, "cuTensorMapEncodeTiled");
    alignas(64) char bytes[192];
    const auto status = [&](auto change, size_t at = 0) {
      Map m;
      change(m);
      return encode(bytes + at, m.dtype, m.rank, pointer(m.address), m.extent, m.stride, m.box, m.step,
                    m.interleave, m.swizzle, m.promotion, m.fill);
    };
    g.expect(status([](Map&) {}) == success, "a description that is right");
    g.expect(status([](Map&) {}, 16) == invalid_value, "a map at 16 bytes");
    g.expect(status([](Map& m) { m.dtype = 99; }) == invalid_value, "an unknown type");
    g.expect(status([](Map& m) { m.rank = 0; }) == invalid_value, "no dimension");
    g.expect(status([](Map& m) { m.address += 8; }) == invalid_value, "an address at 8 bytes");
    g.expect(status([](Map& m) { m.extent[1] = 0; }) == invalid_value, "an empty matrix");
    g.expect(status([](Map& m) { m.extent[0] = (1ull << 32) + 1; }) == invalid_value,
             "more than 2^32 elements");
    g.expect(status([](Map& m) { m.stride[0] = 200; }) == invalid_value, "rows at 8 bytes");
    g.expect(status([](Map& m) { m.stride[0] = 1ull << 40; }) == invalid_value, "rows 2^40 bytes apart");
    g.expect(status([](Map& m) { m.box[1] = 257; }) == invalid_value, "a box of 257 rows");
    g.expect(status([](Map& m) { m.box[0] = 12; }) == invalid_value, "a box of 24 bytes");
    g.expect(status([](Map& m) { m.box[0] = 128; }) == invalid_value, "a box of 256 bytes, swizzled by 128");
    g.expect(status([](Map& m) { m.step[1] = 9; }) == invalid_value, "every 9th row");
    g.expect(status([](Map& m) { m.swizzle = 7; }) == invalid_value, "an unknown swizzle");
    g.expect(status([](Map& m) { m.dtype = 1, m.fill = 1; }) == invalid_value, "NaN among integers");
    g.expect(status([](Map& m) { m.interleave = 1; }) == invalid_value, "a matrix that is interleaved");
    g.expect(status([](Map& m) { m.rank = 1; }) == not_supported, "what the emulation does not know");
  });
}

}  // namespace
}  // namespace softgpu
