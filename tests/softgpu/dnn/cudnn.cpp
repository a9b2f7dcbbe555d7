// The functions of libcudnn.so.9 that Tenon calls. What is wrong is said, with the call. Its list of
// algorithms begins with what a caller has to pass over: one that is less accurate, and one that takes much
// memory.
#include "dnn/convolution.h"

using namespace softgpu;

namespace {

constexpr Statuses statuses{.bad_parameter = 2000, .not_supported = 3000, .failed = 5000};
constexpr int kNotInitialised = 1001;
constexpr int kDtypes[] = {0, 2, 9};
enum Math { default_math = 0, tensor_op_math = 1, fma_math = 3 };
enum Mode { relu = 1, identity = 5 };

struct Performance {  // cudnnConvolutionFwdAlgoPerf_t
  int algorithm, status;
  float milliseconds;
  size_t workspace;
  int determinism, math, reserved[3];
};
enum Algorithm { implicit_gemm = 0, implicit_precomputed_gemm = 1, gemm = 2, winograd = 6 };
struct Known {
  Algorithm algorithm;
  size_t workspace;
};
constexpr Known kAlgorithms[] = {
    {winograd, 4096}, {gemm, size_t{64} << 20}, {implicit_precomputed_gemm, 4096}, {implicit_gemm, 0}};

const Dnn* find(const void* handle, Dnn::Kind kind) { return dnn_objects.find(handle, kind); }

Convolution descriptions(void* handle, void* x, void* w, void* convolution, void* y) {
  return {find(handle, Dnn::library), find(x, Dnn::tensor), find(w, Dnn::filter),
          find(convolution, Dnn::convolution), find(y, Dnn::tensor)};
}

int run(Convolution c, const float* alpha, int algorithm, void* workspace, size_t workspace_bytes,
        const char* call) {
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, call, "%s", fault);
  if (!alpha || *alpha != 1) return refuse(statuses.not_supported, call, "alpha 1 is all that we know");
  for (const Known& k : kAlgorithms)
    if (k.algorithm == algorithm) {
      if (workspace_bytes < k.workspace || (k.workspace && !workspace))
        return refuse(statuses.bad_parameter, call, "the workspace is too small");
      c.workspace = k.workspace ? workspace : nullptr;
      c.cut = c.y->dtype == Dtype::float32 && (c.convolution->math == default_math || algorithm == winograd);
      return convolve(c, statuses, call);
    }
  return refuse(statuses.not_supported, call, "algorithm %d is unknown to us", algorithm);
}

}  // namespace

EXPORTED int cudnnGetProperty(int which, int* value) {
  constexpr int version[] = {9, 28, 1};
  if (which < 0 || which > 2 || !value) return refuse(statuses.bad_parameter, __func__, "no such number");
  return *value = version[which], 0;
}
EXPORTED int cudnnCreate(void** handle) {
  if (is_to_fail("open:cudnn")) return refuse(kNotInitialised, __func__, "SOFTGPU_FAULT");
  return make_dnn(handle, Dnn::library, statuses, __func__);
}
EXPORTED int cudnnSetStream(void* handle, void* stream) {
  Dnn* const library = dnn_objects.find(handle, Dnn::library);
  if (!library) return refuse(statuses.bad_parameter, __func__, "the handle is none");
  return library->stream = stream, 0;
}

#define MADE(kind, name)                                     \
  EXPORTED int cudnnCreate##name##Descriptor(void** made) {  \
    return make_dnn(made, Dnn::kind, statuses, __func__);    \
  }                                                          \
  EXPORTED int cudnnDestroy##name##Descriptor(void* made) {  \
    return destroy_dnn(made, Dnn::kind, statuses, __func__); \
  }
MADE(tensor, Tensor)
MADE(filter, Filter)
MADE(convolution, Convolution)
MADE(activation, Activation)
#undef MADE

EXPORTED int cudnnSetTensorNdDescriptor(void* tensor, int dtype, int rank, const int* sizes,
                                        const int* strides) {
  return set_tensor(tensor, dtype, kDtypes, rank, sizes, strides, statuses, __func__);
}
EXPORTED int cudnnSetFilterNdDescriptor(void* filter, int dtype, int format, int rank, const int* sizes) {
  constexpr int channels_last = 1;
  Dnn* const f = dnn_objects.find(filter, Dnn::filter);
  if (!f) return refuse(statuses.bad_parameter, __func__, "the description is none");
  if (format != channels_last)
    return refuse(statuses.not_supported, __func__, "filters have their channels last");
  std::vector<int> strides(static_cast<size_t>(rank), 1);
  int stride = sizes[1];
  for (int i = rank; i-- > 2; stride *= sizes[i]) strides[static_cast<size_t>(i)] = stride;
  strides[0] = stride;
  f->kind = Dnn::tensor;
  const int status = set_tensor(filter, dtype, kDtypes, rank, sizes, strides.data(), statuses, __func__);
  f->kind = Dnn::filter;
  return status;
}
EXPORTED int cudnnSetConvolutionNdDescriptor(void* convolution, int axes, const int* pads, const int* steps,
                                             const int* dilations, int mode, int computed_in) {
  constexpr int correlation = 1, float32 = 0;
  if (mode != correlation || computed_in != float32)
    return refuse(statuses.not_supported, __func__, "correlations summed in float32 are all that we know");
  return set_convolution(convolution, axes, pads, steps, dilations, statuses, __func__);
}
EXPORTED int cudnnSetConvolutionGroupCount(void* convolution, int groups) {
  Dnn* const c = dnn_objects.find(convolution, Dnn::convolution);
  if (!c || groups < 1)
    return refuse(statuses.bad_parameter, __func__, "%d groups, or no convolution", groups);
  return c->groups = groups, 0;
}
EXPORTED int cudnnSetConvolutionMathType(void* convolution, int math) {
  Dnn* const c = dnn_objects.find(convolution, Dnn::convolution);
  if (!c || (math != default_math && math != tensor_op_math && math != fma_math))
    return refuse(statuses.bad_parameter, __func__, "%d is no arithmetic, or there is no convolution", math);
  return c->math = math, 0;
}
EXPORTED int cudnnSetActivationDescriptor(void* activation, int mode, int of_nan, double) {
  Dnn* const a = dnn_objects.find(activation, Dnn::activation);
  if (!a || of_nan < 0 || of_nan > 1)
    return refuse(statuses.bad_parameter, __func__, "the description is none");
  if (mode != relu && mode != identity) return refuse(statuses.not_supported, __func__, "mode %d", mode);
  return a->mode = mode, 0;
}

EXPORTED int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, void* x, void* w, void* convolution,
                                                    void* y, int wanted, int* found, Performance* all) {
  const Convolution c = descriptions(handle, x, w, convolution, y);
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, __func__, "%s", fault);
  if (!found || !all) return refuse(statuses.bad_parameter, __func__, "an argument is missing");
  *found = 0;
  for (const Known& k : kAlgorithms)
    if (*found < wanted) all[(*found)++] = {k.algorithm, 0, -1, k.workspace, 1, c.convolution->math, {}};
  return 0;
}
EXPORTED int cudnnGetConvolutionForwardWorkspaceSize(void* handle, void* x, void* w, void* convolution,
                                                     void* y, int algorithm, size_t* bytes) {
  const Convolution c = descriptions(handle, x, w, convolution, y);
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, __func__, "%s", fault);
  for (const Known& k : kAlgorithms)
    if (k.algorithm == algorithm) return *bytes = k.workspace, 0;
  return refuse(statuses.not_supported, __func__, "algorithm %d is unknown to us", algorithm);
}

EXPORTED int cudnnConvolutionForward(void* handle, const float* alpha, void* x, const void* x_data, void* w,
                                     const void* w_data, void* convolution, int algorithm, void* workspace,
                                     size_t workspace_bytes, const float* beta, void* y, void* y_data) {
  Convolution c = descriptions(handle, x, w, convolution, y);
  c.x_data = x_data, c.w_data = w_data, c.y_data = y_data;
  if (!beta || *beta != 0) return refuse(statuses.not_supported, __func__, "beta 0 is all that we know");
  return run(c, alpha, algorithm, workspace, workspace_bytes, __func__);
}

EXPORTED int cudnnConvolutionBiasActivationForward(void* handle, const float* alpha, void* x,
                                                   const void* x_data, void* w, const void* w_data,
                                                   void* convolution, int algorithm, void* workspace,
                                                   size_t workspace_bytes, const float* of_z, void* z,
                                                   const void* z_data, void* bias, const void* bias_data,
                                                   void* activation, void* y, void* y_data) {
  const Dnn* const b = find(bias, Dnn::tensor);
  const Dnn* const a = find(activation, Dnn::activation);
  const Dnn* const added = find(z, Dnn::tensor);
  Convolution c = descriptions(handle, x, w, convolution, y);
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, __func__, "%s", fault);
  if (!b || !bias_data || b->sizes[1] != c.y->sizes[1])
    return refuse(statuses.bad_parameter, __func__, "the bias does not fit");
  if (!a || a->mode < 0) return refuse(statuses.bad_parameter, __func__, "the activation is none");
  if (a->mode == identity && algorithm != implicit_precomputed_gemm)
    return refuse(statuses.not_supported, __func__, "no activation with algorithm %d", algorithm);
  if (!added || !z_data || added->sizes != c.y->sizes || added->strides != c.y->strides)
    return refuse(statuses.bad_parameter, __func__, "z does not fit");
  if (!of_z || (*of_z != 0 && *of_z != 1)) return refuse(statuses.not_supported, __func__, "z's factor");
  c.x_data = x_data, c.w_data = w_data, c.y_data = y_data, c.bias_data = bias_data;
  c.z_data = *of_z == 1 ? z_data : nullptr;
  c.relu = a->mode == relu;
  return run(c, alpha, algorithm, workspace, workspace_bytes, __func__);
}
