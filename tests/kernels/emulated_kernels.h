// GPU kernels compiled for the CPU's emulation (tests/softgpu/emulation.h) and run in this process.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/temporary_path.h"

namespace tenon {

/// One translation unit of kernels for waves of a size.
class EmulatedKernels {
 public:
  EmulatedKernels(const std::string& source, const std::vector<std::string>& names, int wave) {
    TemporaryFolder folder(std::filesystem::temp_directory_path());
    std::ofstream text(folder.file("kernels.cpp"));
    text << source << "\n";
    text << "using namespace tenon::gpu;\n";
    for (const std::string& name : names) text << "GPU_CPU_EXPORT(" << name << ")\n";
    text.close();
    // By names in the folder: a cache of compiles knows them again.
    std::filesystem::create_directory_symlink(TENON_SOURCE_DIR "/tests/softgpu", folder.file("softgpu"));
    for (const char* made : {"kernels.o", "kernels.d"}) folder.file(made);
    const std::string library = folder.file("kernels.so"), compiler = TENON_KERNEL_COMPILER;
    const std::string command =
        "cd " + folder.path().string() + " && " + compiler +
        " -std=c++17 -O1 -w -fPIC -fno-gnu-unique -D__SOFTGPU__ -DGPU_CPU_WARP=" + std::to_string(wave) +
        " -Isoftgpu -MD -c kernels.cpp -o kernels.o && " + compiler + " -shared kernels.o -o kernels.so";
    if (std::system(command.c_str()) == 0) library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  bool ok() const { return library_ != nullptr; }

  void launch(const std::string& name, unsigned grid, unsigned block, std::size_t shared,
              void** arguments) const {
    struct Dim3 {
      unsigned x, y = 1, z = 1;
    };
    using Launch = void (*)(const Dim3*, const Dim3*, std::size_t, void**);
    const auto function = reinterpret_cast<Launch>(dlsym(library_, (name + "__launch").c_str()));
    ASSERT_TRUE(function) << name;
    const Dim3 blocks{grid}, threads{block};
    function(&blocks, &threads, shared, arguments);
  }

 private:
  void* library_ = nullptr;  // stays open: its fibers live as long as the process
};

}  // namespace tenon
