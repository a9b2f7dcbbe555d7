// What our cuDNN and our MIOpen have in common: descriptions of tensors and convolutions, and the kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "library/objects.h"

namespace softgpu {

enum class Dtype { float32, float16, bfloat16 };

/// Whatever the program holds of us.
struct Dnn {
  enum Kind { library, tensor, filter, convolution, activation } kind;
  Dtype dtype = Dtype::float32;
  std::vector<int> sizes = {}, strides = {};               // of a tensor
  std::vector<int> pads = {}, steps = {}, dilations = {};  // of a convolution
  int groups = 1, math = 0;
  std::set<uint64_t> compiled = {};  // solutions
  int mode = -1;                     // of an activation
  void* stream = nullptr;            // of a library
};
extern Objects<Dnn>& dnn_objects;

/// The statuses that a vendor gives.
struct Statuses {
  int bad_parameter, not_supported, failed;
};

/// A convolution that is asked for. Null pointers: there is none.
struct Convolution {
  const Dnn *library, *x, *w, *convolution, *y;
  const void *x_data = nullptr, *w_data = nullptr, *z_data = nullptr, *bias_data = nullptr;
  void *y_data = nullptr, *workspace = nullptr;
  bool cut = false, relu = false;
};

/// What is wrong with the descriptions; null: nothing.
const char* fault_of(const Convolution&);
/// Runs it.
int convolve(const Convolution&, const Statuses&, const char* call);
/// y = relu(y + bias), or either.
int finish(const Dnn& library, const Dnn& y, void* y_data, const void* bias, bool relu, const Statuses&,
           const char* call);

int make_dnn(void** to, Dnn::Kind, const Statuses&, const char* call);
int destroy_dnn(void* handle, Dnn::Kind, const Statuses&, const char* call);
int set_tensor(void* tensor, int dtype, const int (&dtypes)[3], int rank, const int* sizes,
               const int* strides, const Statuses&, const char* call);
int set_convolution(void* convolution, int axes, const int* pads, const int* steps, const int* dilations,
                    const Statuses&, const char* call);

}  // namespace softgpu
