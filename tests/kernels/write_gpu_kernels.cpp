// Writes the text of each kernel of gpu_cases.h to FOLDER/NAME.gpu, for tests/softgpu/compile_gate.py.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/kernels/gpu_cases.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_gpu_kernels FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  std::filesystem::create_directories(folder);
  for (const tenon::gpu::GpuCase& c : tenon::gpu::all_gpu_cases())
    if (!(std::ofstream(folder / (c.name + ".gpu")) << c.source)) return 1;
  return 0;
}
