// Kernels of users' libraries.
#include <cstring>

#include "kernels/gpu/custom_source.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {

// Runs of neighbours, scaled; and where each begins. The text is a template of its types.
std::vector<GpuCase> custom_gpu_cases() {
  constexpr std::int64_t places = 300, size = 3, runs = places - size + 1;
  constexpr char text[] =
      "template <class T>\n"
      "__device__ void windows(const T* x, T* y, Int* starts, const tenon_call& call, long long run) {\n"
      "  const long long size = call.integers[0];\n"
      "  for (long long i = 0; i < size; ++i) y[run * size + i] = x[run + i] * T(call.reals[1]);\n"
      "  starts[run] = call.sizes[0][0] + run;\n"
      "}\n";
  CustomCall call{
      .elements = runs, .sizes = {{places}, {runs, size}, {runs}}, .integers = {size}, .reals = {0, 2}};
  const DType operands[] = {DType::f32}, results[] = {DType::f32, DType::i64};
  GpuCase c{.name = "custom windows f32",
            .launches = {{.source = custom_source(text, "windows", operands, results),
                          .kernel = "custom",
                          .grid = {(runs + custom_threads - 1) / custom_threads, 1, 1},
                          .block = custom_threads,
                          .arguments = {bytes_of(std::vector<CustomCall>{call})}}},
            .buffers = {random_buffer(DType::f32, places, 3), random_buffer(DType::f32, runs * size, 4),
                        random_buffer(DType::i64, runs, 5)},
            .dtypes = {DType::f32, DType::f32, DType::i64},
            .operators = {"custom"}};
  c.expected = c.buffers;
  for (std::int64_t run = 0; run < runs; ++run) {
    for (std::int64_t i = 0; i < size; ++i)
      write_number(c.expected[1].data(), DType::f32, run * size + i,
                   {.real = 2 * read_number(c.buffers[0].data(), DType::f32, run + i).real});
    write_number(c.expected[2].data(), DType::i64, run, {.whole = places + run});
  }
  return {c};
}

}  // namespace tenon::gpu
