// The functions of libMIOpen.so.1 that Tenon calls. What is wrong is said, with the call. Its list of
// solutions begins with what a caller has to pass over: one that is less accurate, and one that takes much
// memory.
#include "dnn/convolution.h"

using namespace softgpu;

namespace {

constexpr Statuses statuses{.bad_parameter = 3, .not_supported = 6, .failed = 7};
constexpr int kNotInitialised = 1;
constexpr int kDtypes[] = {1, 0, 5};

struct Solution {  // miopenConvSolution_t
  float milliseconds;
  size_t workspace;
  uint64_t id;
  int algorithm;
};
enum Algorithm { gemm = 0, direct = 1, winograd = 3, implicit_gemm = 5 };
constexpr Solution kSolutions[] = {{1, 4096, 101, winograd},
                                   {2, size_t{64} << 20, 102, gemm},
                                   {3, 4096, 103, implicit_gemm},
                                   {4, 0, 104, direct}};

const Dnn* find(const void* handle, Dnn::Kind kind) { return dnn_objects.find(handle, kind); }

Convolution descriptions(void* handle, void* w, void* x, void* convolution, void* y) {
  return {find(handle, Dnn::library), find(x, Dnn::tensor), find(w, Dnn::tensor),
          find(convolution, Dnn::convolution), find(y, Dnn::tensor)};
}

const Solution* solution_of(uint64_t id) {
  for (const Solution& s : kSolutions)
    if (s.id == id) return &s;
  return nullptr;
}

}  // namespace

EXPORTED int miopenGetVersion(size_t* major, size_t* minor, size_t* patch) {
  return *major = 3, *minor = 3, *patch = 0, 0;
}
EXPORTED int miopenCreate(void** handle) {
  if (is_to_fail("open:miopen")) return refuse(kNotInitialised, __func__, "SOFTGPU_FAULT");
  return make_dnn(handle, Dnn::library, statuses, __func__);
}
EXPORTED int miopenSetStream(void* handle, void* stream) {
  Dnn* const library = dnn_objects.find(handle, Dnn::library);
  if (!library) return refuse(statuses.bad_parameter, __func__, "the handle is none");
  return library->stream = stream, 0;
}

#define MADE(kind, name)                                     \
  EXPORTED int miopenCreate##name##Descriptor(void** made) { \
    return make_dnn(made, Dnn::kind, statuses, __func__);    \
  }                                                          \
  EXPORTED int miopenDestroy##name##Descriptor(void* made) { \
    return destroy_dnn(made, Dnn::kind, statuses, __func__); \
  }
MADE(tensor, Tensor)
MADE(convolution, Convolution)
MADE(activation, Activation)
#undef MADE

EXPORTED int miopenSetTensorDescriptor(void* tensor, int dtype, int rank, const int* sizes,
                                       const int* strides) {
  return set_tensor(tensor, dtype, kDtypes, rank, sizes, strides, statuses, __func__);
}
EXPORTED int miopenInitConvolutionNdDescriptor(void* convolution, int axes, const int* pads, const int* steps,
                                               const int* dilations, int mode) {
  if (mode != 0) return refuse(statuses.not_supported, __func__, "correlations are all that we know");
  return set_convolution(convolution, axes, pads, steps, dilations, statuses, __func__);
}
EXPORTED int miopenSetConvolutionGroupCount(void* convolution, int groups) {
  Dnn* const c = dnn_objects.find(convolution, Dnn::convolution);
  if (!c || groups < 1)
    return refuse(statuses.bad_parameter, __func__, "%d groups, or no convolution", groups);
  return c->groups = groups, 0;
}
EXPORTED int miopenSetConvolutionAttribute(void* convolution, int attribute, int) {
  if (!find(convolution, Dnn::convolution) || attribute < 0 || attribute > 1)
    return refuse(statuses.bad_parameter, __func__, "attribute %d, or no convolution", attribute);
  return 0;
}
EXPORTED int miopenSetActivationDescriptor(void* activation, int mode, double, double, double) {
  constexpr int relu = 3;
  Dnn* const a = dnn_objects.find(activation, Dnn::activation);
  if (!a || mode != relu) return refuse(statuses.bad_parameter, __func__, "mode %d, or no activation", mode);
  return a->mode = mode, 0;
}

EXPORTED int miopenConvolutionForwardGetSolution(void* handle, void* w, void* x, void* convolution, void* y,
                                                 size_t wanted, size_t* found, Solution* all) {
  const Convolution c = descriptions(handle, w, x, convolution, y);
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, __func__, "%s", fault);
  if (!found || !all) return refuse(statuses.bad_parameter, __func__, "an argument is missing");
  *found = 0;
  for (const Solution& s : kSolutions)
    if (*found < wanted) all[(*found)++] = s;
  return 0;
}
EXPORTED int miopenConvolutionForwardCompileSolution(void* handle, void* w, void* x, void* convolution,
                                                     void* y, uint64_t solution) {
  const Convolution c = descriptions(handle, w, x, convolution, y);
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, __func__, "%s", fault);
  if (!solution_of(solution)) return refuse(statuses.bad_parameter, __func__, "the solution is none");
  dnn_objects.find(convolution, Dnn::convolution)->compiled.insert(solution);
  return 0;
}
EXPORTED int miopenConvolutionForwardImmediate(void* handle, void* w, const void* w_data, void* x,
                                               const void* x_data, void* convolution, void* y, void* y_data,
                                               void* workspace, size_t workspace_bytes, uint64_t solution) {
  Convolution c = descriptions(handle, w, x, convolution, y);
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, __func__, "%s", fault);
  const Solution* const s = solution_of(solution);
  if (!s || !c.convolution->compiled.count(solution))
    return refuse(statuses.bad_parameter, __func__, "the solution is none, or is not compiled");
  if (workspace_bytes < s->workspace || !workspace != !workspace_bytes)
    return refuse(statuses.bad_parameter, __func__, "the workspace is too small, or lacks its size");
  c.x_data = x_data, c.w_data = w_data, c.y_data = y_data, c.workspace = workspace;
  c.cut = c.y->dtype == Dtype::float32 && s->algorithm == winograd;
  return convolve(c, statuses, __func__);
}
EXPORTED int miopenConvolutionForwardBias(void* handle, const float* alpha, void* bias, const void* bias_data,
                                          const float* beta, void* y, void* y_data) {
  const Dnn *const library = find(handle, Dnn::library), *const b = find(bias, Dnn::tensor),
                   *const of_y = find(y, Dnn::tensor);
  if (!library || !b || !of_y || !bias_data || !y_data || b->sizes[1] != of_y->sizes[1])
    return refuse(statuses.bad_parameter, __func__, "the bias does not fit");
  if (*alpha != 1 || *beta != 0) return refuse(statuses.not_supported, __func__, "alpha 1 and beta 0");
  if (of_y->dtype == Dtype::bfloat16) return refuse(statuses.not_supported, __func__, "a bias of bfloat16");
  return finish(*library, *of_y, y_data, bias_data, false, statuses, __func__);
}
EXPORTED int miopenActivationForward(void* handle, void* activation, const float* alpha, void* x,
                                     const void* x_data, const float* beta, void* y, void* y_data) {
  const Dnn *const library = find(handle, Dnn::library), *const a = find(activation, Dnn::activation),
                   *const of_y = find(y, Dnn::tensor);
  if (!library || !a || a->mode < 0 || !of_y)
    return refuse(statuses.bad_parameter, __func__, "a description is none");
  if (x != y || x_data != y_data || *alpha != 1 || *beta != 0)
    return refuse(statuses.not_supported, __func__, "in place is all that we know");
  return finish(*library, *of_y, y_data, nullptr, true, statuses, __func__);
}
