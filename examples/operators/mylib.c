/* Two operators of one's own: cc -shared -fPIC -O2 -I include mylib.c -o libmylib.so -lm */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tenon/operator.h>

static int64_t count(const tenon_tensor* t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; ++i) n *= t->sizes[i];
  return n;
}

/* x * sigmoid(beta * x) * weight */
static int gated_swish(const tenon_tensor* in, const tenon_tensor* out, const tenon_argument* arguments,
                       char* message, size_t message_size) {
  (void)message, (void)message_size;
  const float *x = in[0].data, *weight = in[1].data;
  const int64_t columns = in[1].sizes[0], total = count(&in[0]);
  float* y = out[0].data;
  for (int64_t i = 0; i < total; ++i)
    y[i] = (float)(x[i] / (1 + exp(-arguments[0].real * x[i]))) * weight[i % columns];
  return 0;
}

/* Every run of `size` neighbours, and where it begins. */
static int windows(const tenon_tensor* in, const tenon_tensor* out, const tenon_argument* arguments, char* message,
                   size_t message_size) {
  const int64_t size = arguments[0].integer;
  if (size < 1) {
    snprintf(message, message_size, "a window of %lld elements", (long long)size);
    return 1;
  }
  const size_t bytes = in[0].dtype == TENON_F64 ? 8 : 4;
  if (in[0].dtype != TENON_F64 && in[0].dtype != TENON_F32) {
    snprintf(message, message_size, "only f32 and f64 have windows");
    return 1;
  }
  int64_t* starts = out[1].data;
  for (int64_t i = 0; i < out[0].sizes[0]; ++i) {
    memcpy((char*)out[0].data + (size_t)(i * size) * bytes, (const char*)in[0].data + (size_t)i * bytes,
           (size_t)size * bytes);
    starts[i] = i;
  }
  return 0;
}

static const tenon_operator operators[] = {
    {"mylib::gated_swish", "(x: f32[...,C], weight: f32[C], beta: float = 1.0) -> f32[...,C]", gated_swish},
    {"mylib::windows", "(x: T[N], size: int) -> T[N-size+1,size], i64[N-size+1]", windows},
};

/* The same on GPUs, of either vendor: a thread for each element of the first result. */
static const char gpu_source[] =
    "__device__ void gated_swish(const float* x, const float* weight, float* y, const tenon_call& call,\n"
    "                            long long i) {\n"
    "  y[i] = x[i] / (1 + expf(-float(call.reals[0]) * x[i])) * weight[i % call.sizes[1][0]];\n"
    "}\n"
    "template <class T, class Start>\n"
    "__device__ void windows(const T* x, T* y, Start* starts, const tenon_call& call, long long i) {\n"
    "  const long long size = call.integers[0];\n"
    "  y[i] = x[i / size + i % size];\n"
    "  if (i % size == 0) starts[i / size] = i / size;\n"
    "}\n";

static const tenon_kernel kernels[] = {
    {"mylib::gated_swish", gpu_source, "gated_swish", 0},
    {"mylib::windows", gpu_source, "windows", 0},
};

const tenon_kernel_library* tenon_kernels(void) {
  static const tenon_kernel_library library = {TENON_OPERATOR_ABI, 2, kernels};
  return &library;
}

const tenon_operator_library* tenon_operators(void) {
  static const tenon_operator_library library = {TENON_OPERATOR_ABI, 2, operators};
  return &library;
}
