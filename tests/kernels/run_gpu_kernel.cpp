// run_gpu_kernel LIBRARY KERNEL LAUNCH: launches a kernel that was compiled for the emulation, and writes its
// buffers back. A program of its own, so that a sanitizer sees all of it (emulated_launch.h writes LAUNCH).
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Dim3 {
  unsigned x, y, z;
};
using Launch = void (*)(const Dim3*, const Dim3*, std::size_t, void**);

std::int64_t number(std::istream& in) {
  std::int64_t value = 0;
  in.read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

// In memory that ends where they end.
char* bytes(std::istream& in, std::int64_t size) {
  char* const memory = static_cast<char*>(std::malloc(static_cast<std::size_t>(size)));
  in.read(memory, size);
  return memory;
}

}  // namespace

int main(int, char** arguments) {
  void* const library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  const auto launch =
      reinterpret_cast<Launch>(dlsym(library, (std::string(arguments[2]) + "__launch").c_str()));
  std::ifstream in(arguments[3], std::ios::binary);
  Dim3 grid{}, block{1, 1, 1};
  for (unsigned* size : {&grid.x, &grid.y, &grid.z, &block.x}) *size = static_cast<unsigned>(number(in));
  const auto shared = static_cast<std::size_t>(number(in));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(number(in)));
  std::vector<void*> buffers, parameters;
  for (std::int64_t& size : sizes) buffers.push_back(bytes(in, size = number(in)));
  for (void*& buffer : buffers) parameters.push_back(&buffer);
  for (std::int64_t rest = number(in); rest > 0; --rest) parameters.push_back(bytes(in, number(in)));
  parameters.push_back(nullptr);
  if (!in || !launch) return std::fprintf(stderr, "%s is damaged\n", arguments[3]), 2;
  launch(&grid, &block, shared, parameters.data());
  std::ofstream out(arguments[3], std::ios::binary);
  for (std::size_t i = 0; i < sizes.size(); ++i) out.write(static_cast<char*>(buffers[i]), sizes[i]);
  return out.flush() ? 0 : 2;
}
