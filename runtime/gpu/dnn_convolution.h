// Convolutions as the vendors' libraries compute them (dnn.h).
#pragma once
#include <memory>
#include <vector>

#include "runtime/gpu/dnn.h"

namespace tenon::gpu {

/// Of dense tensors of one dtype whose channels lie side by side, with two or three spatial axes.
struct DnnConvolution {
  DType dtype = DType::f32;
  std::vector<int> input, weights, result;  // sizes: [N, C, ...], [K, C / groups, ...], [N, K, ...]
  std::vector<int> pad, stride, dilation;   // of the spatial axes
  int groups = 1;
  bool bias = false, residual = false, relu = false;  // behind it, in this order
  bool tf32 = false;                                  // may be computed in it
};

/// In the device's memory. Null: there is none.
struct ConvolutionData {
  const std::byte *input = nullptr, *weights = nullptr, *bias = nullptr, *residual = nullptr;
  std::byte *result = nullptr, *scratch = nullptr;  // FoundConvolution::scratch_bytes()
};

/// A convolution for which the library has an algorithm. Safe from several threads.
class FoundConvolution {
 public:
  virtual ~FoundConvolution() = default;
  virtual std::size_t scratch_bytes() const = 0;
  virtual void run(const ConvolutionData&, void* stream) const = 0;
};

/// Whether the library of this vendor is asked for such a convolution: not where it would round its sums
/// before a bias is added, or lacks the function.
bool library_convolves(Vendor, DType, bool bias, bool residual, bool relu);
/// Null where the library does not open, or has no algorithm that sums products, is deterministic and takes
/// no more than library_workspace: transforms (Winograd's, Fourier's) are less accurate.
std::unique_ptr<FoundConvolution> find_convolution(Gpu&, const DnnConvolution&);

std::unique_ptr<FoundConvolution> find_by_cudnn(Gpu&, const DnnConvolution&);
std::unique_ptr<FoundConvolution> find_by_miopen(Gpu&, const DnnConvolution&);

/// A description of a dense tensor of these sizes, whose channels lie side by side.
LibraryObject describe_tensor(const Dnn&, DType, const std::vector<int>& sizes);
/// What `create` makes. Throws Error.
LibraryObject make_object(const Dnn&, int (*create)(void**), LibraryObject::Destroy);

}  // namespace tenon::gpu
