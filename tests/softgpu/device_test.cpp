// What the devices say of themselves, several devices, copies of rows, and what the compiler says.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "test_child.h"

namespace softgpu {
namespace {

constexpr int kCompilationFailed = 6, kInvalidOption = 5, kInternalError = 11;  // nvrtcResult, hiprtcResult

class Device : public testing::TestWithParam<Setting> {};
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
    g.expect(g.run("increase", 1, 4, nullptr, first, 1.0f) == invalid_handle, "a kernel of the other device");
    g.expect(g.load(&module, g.image.data()) == 0, "a module for the second device");
    g.module = module;
    const Address second = g.new_memory(16);
    g.expect(g.run("increase", 1, 4, nullptr, first, 1.0f) == invalid_value, "memory of the other device");
    g.expect(g.on_device(second, first, 16) == 0, "a copy between devices");
    g.expect(g.run("increase", 1, 4, nullptr, second, 1.0f) == 0, "its own memory");
    g.expect(g.floats(second, 4)[3] == 5, "numbers of the second device");
    g.run("increase", 1, 1024, nullptr, second, 1.0f);
    g.expect(g.synchronise_device() == illegal_address, "an error of the second device");
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

TEST_P(Device, CopiesAsTheAddressesSay) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    const Address x = g.new_floats({1, 2, 3, 4}), y = g.new_memory(16);
    std::vector<float> back(4), again(4);
    void* stream = g.new_stream();
    const auto copy = [&](Address to, Address from) {
      constexpr int kDefault = 4;
      int (*of_kind)(Address, Address, size_t, int, void*);
      int (*by_address)(Address, Address, size_t, void*);
      if (g.is_hip())
        return g.driver_function(of_kind, "hipMemcpyAsync"), of_kind(to, from, 16, kDefault, stream);
      return g.driver_function(by_address, "cuMemcpyAsync"), by_address(to, from, 16, stream);
    };
    const auto address = [](std::vector<float>& v) { return reinterpret_cast<Address>(v.data()); };
    g.expect(copy(y, x) == 0 && copy(address(back), y) == 0 && copy(address(again), address(back)) == 0,
             "copies");
    g.expect(g.synchronise(stream) == 0 && again == std::vector<float>({1, 2, 3, 4}), "their numbers");
    g.expect(copy(x + 4, y) == invalid_value, "a copy past the end");
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
    g.expect(g.load(&module, g.image.data()) == no_binary, "not for sm_80");
  });
}

TEST_P(Device, CompilerKeepsItsImages) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("softgpu_cache_" + std::to_string(getpid()));
  setenv("SOFTGPU_CACHE", folder.c_str(), 1);
  EXPECT_HOLDS(GetParam(), [&](Session& g) {
    const fs::directory_iterator files(folder);
    g.expect(std::distance(begin(files), end(files)) == 1, "one image is kept");
    std::ofstream(fs::directory_iterator(folder)->path()) << "kept";
    g.expect(g.compile_text(kKernels, "scale<float, 3>") == 0 && g.image == "kept", "and given again");
  });
  unsetenv("SOFTGPU_CACHE");
  fs::remove_all(folder);
}

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

/// A library of the soft GPU alone in a folder.
void* alone(const std::string& library) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("softgpu_alone_" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::create_symlink(fs::path(SOFTGPU_FOLDER) / library, folder / library);
  void* const handle = dlopen((folder / library).c_str(), RTLD_NOW | RTLD_LOCAL);
  fs::remove_all(folder);
  return handle;
}

TEST(Folder, SaysThatTheDeviceIsMissing) {
  const auto start = [] {
    const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(alone("libcuda.so.1"), "cuInit"));
    exit(init(0) == operating_system ? 0 : 1);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(0), "softgpu-device is not there");
}

TEST(Folder, SaysThatHeadersAreMissing) {
  const auto compile = [] {
    void* const library = alone("libnvrtc.so.13");
    const auto find = [&](const char* name) { return dlsym(library, name); };
    void* program = nullptr;
    reinterpret_cast<int (*)(void**, const char*, const char*, int, const char**, const char**)>(
        find("nvrtcCreateProgram"))(&program, "", "", 0, nullptr, nullptr);
    const int result =
        reinterpret_cast<int (*)(void*, int, const char**)>(find("nvrtcCompileProgram"))(program, 0, nullptr);
    char log[1000] = {};
    reinterpret_cast<int (*)(void*, char*)>(find("nvrtcGetProgramLog"))(program, log);
    fputs(log, stderr);
    exit(result == kInternalError ? 0 : 1);
  };
  EXPECT_EXIT(compile(), testing::ExitedWithCode(0), "include/emulation.h is not there");
}

}  // namespace
}  // namespace softgpu
