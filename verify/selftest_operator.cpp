// An operator of a library, as a user has one, and its kernel for GPUs.
#include <algorithm>

#include "ir/operator_library.h"
#include "verify/selftest.h"

namespace tenon {
namespace {

// Runs of `size` neighbours, scaled, and where each begins.
int compute_windows(const tenon_tensor* in, const tenon_tensor* out, const tenon_argument* arguments, char*,
                    std::size_t) {
  const auto* const x = static_cast<const float*>(in[0].data);
  auto* const y = static_cast<float*>(out[0].data);
  auto* const starts = static_cast<std::int64_t*>(out[1].data);
  const std::int64_t runs = out[0].sizes[0], size = out[0].sizes[1];
  for (std::int64_t run = 0; run < runs; ++run) {
    starts[run] = run;
    std::transform(x + run, x + run + size, y + run * size,
                   [&](float element) { return element * static_cast<float>(arguments[1].real); });
  }
  return 0;
}

constexpr char source[] =
    "template <class T, class Start>\n"
    "__device__ void windows(const T* x, T* y, Start* starts, const tenon_call& call, long long i) {\n"
    "  const long long size = call.integers[0];\n"
    "  y[i] = x[i / size + i % size] * T(call.reals[1]);\n"
    "  if (i % size == 0) starts[i / size] = i / size;\n"
    "}\n";

constexpr tenon_operator operators[] = {{"selftest::windows",
                                         "(x: f32[places], size: int, scale: float) -> "
                                         "f32[places-size+1,size], i64[places-size+1]",
                                         compute_windows}};
constexpr tenon_kernel kernels[] = {{"selftest::windows", source, "windows", 0}};

}  // namespace

void add_self_test_operator() {
  static const bool added = [] {
    const tenon_kernel_library of_gpus{TENON_OPERATOR_ABI, std::size(kernels), kernels};
    add_operator_library({TENON_OPERATOR_ABI, std::size(operators), operators}, &of_gpus, "the self-test");
    return true;
  }();
  (void)added;
}

}  // namespace tenon
