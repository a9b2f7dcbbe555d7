#include "dnn/convolution.h"

#include "dnn/kernel.h"
#include "library/device.h"

namespace softgpu {

Objects<Dnn>& dnn_objects = *new Objects<Dnn>;

namespace {

constexpr size_t kAlignment = 16;  // of data

/// Of a tensor, and of what belongs to its spatial axes: in five axes and in three.
void widen(long long (&to)[5], const std::vector<int>& from, long long filled) {
  for (long long& n : to) n = filled;
  for (size_t i = 0; i < 2; i++) to[i] = from[i];
  for (size_t i = 2; i < from.size(); i++) to[i + 5 - from.size()] = from[i];
}
void widen(long long (&to)[3], const std::vector<int>& from, long long filled) {
  for (long long& n : to) n = filled;
  for (size_t i = 0; i < from.size(); i++) to[i + 3 - from.size()] = from[i];
}

ConvolutionShape shape_of(const Dnn& y) {
  ConvolutionShape s{};
  widen(s.y, y.sizes, 1);
  widen(s.y_stride, y.strides, 0);
  s.dtype = static_cast<int>(y.dtype);
  return s;
}

long long elements(const ConvolutionShape& s) { return s.y[0] * s.y[1] * s.y[2] * s.y[3] * s.y[4]; }

}  // namespace

const char* fault_of(const Convolution& c) {
  if (!c.library) return "the handle is none";
  if (!c.x || !c.w || !c.y || !c.convolution) return "a description is none";
  const size_t rank = c.x->sizes.size(), axes = c.convolution->pads.size();
  if (rank < 4 || rank != c.w->sizes.size() || rank != c.y->sizes.size() || rank != axes + 2)
    return "the numbers of axes do not fit";
  if (c.x->dtype != c.y->dtype || c.w->dtype != c.y->dtype) return "the types differ";
  const int groups = c.convolution->groups;
  if (c.x->sizes[0] != c.y->sizes[0] || c.x->sizes[1] != c.w->sizes[1] * groups ||
      c.w->sizes[0] != c.y->sizes[1] || c.y->sizes[1] % groups != 0)
    return "the sizes of the tensors do not fit";
  for (size_t a = 0; a < axes; a++) {
    const int reach = (c.w->sizes[2 + a] - 1) * c.convolution->dilations[a] + 1;
    const int in = c.x->sizes[2 + a] + 2 * c.convolution->pads[a];
    if (c.y->sizes[2 + a] != (in - reach) / c.convolution->steps[a] + 1)
      return "the sizes of the tensors do not fit";
  }
  return nullptr;
}

int convolve(const Convolution& c, const Statuses& statuses, const char* call) {
  if (const char* fault = fault_of(c)) return refuse(statuses.bad_parameter, call, "%s", fault);
  if (!c.x_data || !c.w_data || !c.y_data) return refuse(statuses.bad_parameter, call, "an address is null");
  for (const void* data : {c.x_data, c.w_data, static_cast<const void*>(c.y_data), c.z_data, c.bias_data})
    if (reinterpret_cast<uintptr_t>(data) % kAlignment)
      return refuse(statuses.bad_parameter, call, "a tensor lies at no multiple of %zu bytes", kAlignment);
  ConvolutionShape s = shape_of(*c.y);
  widen(s.x, c.x->sizes, 1);
  widen(s.x_stride, c.x->strides, 0);
  widen(s.w, c.w->sizes, 1);
  widen(s.w_stride, c.w->strides, 0);
  widen(s.pad, c.convolution->pads, 0);
  widen(s.stride, c.convolution->steps, 1);
  widen(s.dilation, c.convolution->dilations, 1);
  s.groups = c.convolution->groups;
  s.cut = c.cut;
  s.relu = c.relu;
  s.has_bias = c.bias_data != nullptr;
  s.has_z = c.z_data != nullptr;
  Convolution o = c;
  void* arguments[] = {&o.x_data, &o.w_data, &o.y_data, &o.z_data, &o.bias_data, &o.workspace, &s, nullptr};
  const int status = launch(kConvolutionKernels, "convolve", elements(s), arguments, c.library->stream);
  return status ? refuse(statuses.failed, call, "the kernel does not start (error %d)", status) : 0;
}

int finish(const Dnn& library, const Dnn& y, void* y_data, const void* bias, bool relu,
           const Statuses& statuses, const char* call) {
  ConvolutionShape s = shape_of(y);
  s.has_bias = bias != nullptr;
  s.relu = relu;
  void* arguments[] = {&y_data, &bias, &s, nullptr};
  const int status = launch(kConvolutionKernels, "finish", elements(s), arguments, library.stream);
  return status ? refuse(statuses.failed, call, "the kernel does not start (error %d)", status) : 0;
}

int make_dnn(void** to, Dnn::Kind kind, const Statuses& statuses, const char* call) {
  if (!to) return refuse(statuses.bad_parameter, call, "no place for the result");
  return *to = dnn_objects.make({.kind = kind}), 0;
}

int destroy_dnn(void* handle, Dnn::Kind kind, const Statuses& statuses, const char* call) {
  Dnn* const o = dnn_objects.find(handle, kind);
  if (!o) return refuse(statuses.bad_parameter, call, "this is none, or is destroyed already");
  return dnn_objects.destroy(o), 0;
}

int set_tensor(void* tensor, int dtype, const int (&dtypes)[3], int rank, const int* sizes,
               const int* strides, const Statuses& statuses, const char* call) {
  Dnn* const t = dnn_objects.find(tensor, Dnn::tensor);
  if (!t) return refuse(statuses.bad_parameter, call, "the description is none");
  if (rank < 4 || rank > 5) return refuse(statuses.not_supported, call, "%d axes are not 4 or 5", rank);
  for (int i = 0; i < 3; i++)
    if (dtype == dtypes[i]) {
      t->dtype = static_cast<Dtype>(i);
      t->sizes.assign(sizes, sizes + rank);
      t->strides.assign(strides, strides + rank);
      return 0;
    }
  return refuse(statuses.not_supported, call, "data type %d is unknown to us", dtype);
}

int set_convolution(void* convolution, int axes, const int* pads, const int* steps, const int* dilations,
                    const Statuses& statuses, const char* call) {
  Dnn* const c = dnn_objects.find(convolution, Dnn::convolution);
  if (!c) return refuse(statuses.bad_parameter, call, "the description is none");
  c->pads.assign(pads, pads + axes);
  c->steps.assign(steps, steps + axes);
  c->dilations.assign(dilations, dilations + axes);
  return 0;
}

}  // namespace softgpu
