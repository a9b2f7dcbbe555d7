// Writes each text that gpu_cases.h launches to FOLDER/NAME.gpu, for tests/softgpu/compile_gate.py.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "tests/kernels/gpu_cases.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_gpu_kernels FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  std::filesystem::create_directories(folder);
  std::set<std::string> written;  // what several cases launch is of the first
  for (const tenon::gpu::GpuCase& c : tenon::gpu::all_gpu_cases(32))
    for (const tenon::gpu::GpuLaunch& launch : c.launches) {
      if (!written.insert(launch.source).second) continue;
      const std::string name = c.launches.size() > 1 ? c.name + ", " + launch.kernel : c.name;
      if (!(std::ofstream(folder / (name + ".gpu")) << launch.source)) return 1;
    }
  return 0;
}
