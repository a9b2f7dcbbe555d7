// run_gpu_kernel LAUNCHES: launches kernels that were compiled for the emulation, and writes their buffers
// back. A program of its own, so that a sanitizer sees all of it (emulated_launch.h writes LAUNCHES).
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "tests/softgpu/emulation/tensor_map.h"

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

std::string text(std::istream& in) {
  std::string result(static_cast<std::size_t>(number(in)), ' ');
  in.read(result.data(), static_cast<std::streamsize>(result.size()));
  return result;
}

struct alignas(gpusim::kTensorMapAlignment) TensorMap {
  char bytes[gpusim::kTensorMapBytes];
};

char* tensor_map(std::istream& in, const std::vector<char*>& buffers, char* to) {
  gpusim::TensorMapBits bits{};
  bits.address = reinterpret_cast<std::uintptr_t>(buffers.at(static_cast<std::size_t>(number(in))));
  bits.element_bytes = static_cast<std::uint32_t>(number(in));
  for (std::uint64_t& extent : bits.extent) extent = static_cast<std::uint64_t>(number(in));
  bits.stride = static_cast<std::uint64_t>(number(in)) * bits.element_bytes;
  for (std::uint32_t& box : bits.box) box = static_cast<std::uint32_t>(number(in));
  bits.swizzled = 1;
  gpusim::write_tensor_map(to, bits);
  return to;
}

bool launch(std::istream& in, const std::vector<char*>& buffers) {
  void* const library = dlopen(text(in).c_str(), RTLD_NOW);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), false;
  const auto run = reinterpret_cast<Launch>(dlsym(library, (text(in) + "__launch").c_str()));
  Dim3 grid{}, block{1, 1, 1};
  for (unsigned* size : {&grid.x, &grid.y, &grid.z, &block.x}) *size = static_cast<unsigned>(number(in));
  const auto shared = static_cast<std::size_t>(number(in));
  std::vector<char*> addresses(static_cast<std::size_t>(number(in)));
  for (char*& address : addresses) {
    char* const buffer = buffers.at(static_cast<std::size_t>(number(in)));
    address = buffer + number(in);
  }
  std::vector<void*> parameters;
  for (char*& address : addresses) parameters.push_back(&address);
  for (std::int64_t rest = number(in); rest > 0; --rest) parameters.push_back(bytes(in, number(in)));
  std::deque<TensorMap> maps;
  for (std::int64_t rest = number(in); rest > 0; --rest)
    parameters.push_back(tensor_map(in, addresses, maps.emplace_back().bytes));
  parameters.push_back(nullptr);
  if (!in || !run) return std::fprintf(stderr, "the launch is damaged\n"), false;
  run(&grid, &block, shared, parameters.data());
  return true;
}

}  // namespace

int main(int, char** arguments) {
  std::ifstream in(arguments[1], std::ios::binary);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(number(in)));
  std::vector<char*> buffers;
  for (std::int64_t& size : sizes) buffers.push_back(bytes(in, size = number(in)));
  while (in.peek() != EOF)
    if (!launch(in, buffers)) return 2;
  if (!in) return std::fprintf(stderr, "%s is damaged\n", arguments[1]), 2;
  std::ofstream out(arguments[1], std::ios::binary);
  for (std::size_t i = 0; i < sizes.size(); ++i) out.write(buffers[i], sizes[i]);
  return out.flush() ? 0 : 2;
}
