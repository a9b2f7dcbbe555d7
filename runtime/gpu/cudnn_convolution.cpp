// Convolutions by cuDNN's functions of convolutions, which version 9 has beside its graphs.
#include <array>
#include <optional>
#include <span>

#include "runtime/gpu/dnn_convolution.h"

namespace tenon::gpu {
namespace {

using namespace cudnn_numbers;

int math_for(const DnnConvolution& c) {
  if (c.dtype != DType::f32) return tensor_op_math;
  return c.tf32 ? default_math : fma_math;
}

class CudnnConvolution : public FoundConvolution {
 public:
  CudnnConvolution(Gpu& gpu, const DnnConvolution& c)
      : gpu_(gpu),
        dnn_(dnn(Vendor::cuda)),
        residual_(c.residual),
        x_(describe_tensor(dnn_, c.dtype, c.input)),
        w_(make_object(dnn_, dnn_.create_filter, dnn_.destroy_filter)),
        y_(describe_tensor(dnn_, c.dtype, c.result)),
        convolution_(make_object(dnn_, dnn_.create_convolution, dnn_.destroy_convolution)),
        activation_(make_object(dnn_, dnn_.create_activation, dnn_.destroy_activation)) {
    constexpr std::string_view tried = "describing a convolution";
    const auto axes = static_cast<int>(c.pad.size());
    dnn_.check(dnn_.set_filter(w_.get(), dnn_.number_of(c.dtype), channels_last, axes + 2, c.weights.data()),
               tried);
    dnn_.check(dnn_.set_convolution(convolution_.get(), axes, c.pad.data(), c.stride.data(),
                                    c.dilation.data(), dnn_.numbers.correlation, dnn_.numbers.float32),
               tried);
    dnn_.check(dnn_.set_groups(convolution_.get(), c.groups), tried);
    dnn_.check(dnn_.set_math(convolution_.get(), math_for(c)), tried);
    dnn_.check(
        dnn_.set_activation(activation_.get(), c.relu ? dnn_.numbers.relu : identity, propagate_nan, 0),
        tried);
    if (!c.bias) return;
    std::vector<int> sizes(c.result.size(), 1);
    sizes[1] = c.result[1];
    bias_.emplace(describe_tensor(dnn_, c.dtype, sizes));
  }

  bool find_algorithm(const DnnConvolution& c) {
    LibraryHandle& h = dnn_handle(gpu_);
    const std::lock_guard lock(h.mutex);
    std::array<CudnnAlgorithm, 16> all{};
    int found = 0;
    if (dnn_.find_algorithms(h.handle, x_.get(), w_.get(), convolution_.get(), y_.get(),
                             static_cast<int>(all.size()), &found, all.data()) != 0)
      return false;
    for (const CudnnAlgorithm& a : std::span(all).first(static_cast<std::size_t>(found)))
      if (a.status == 0 && a.determinism == deterministic && fits(c, a) && takes_workspace(c, h.handle, a))
        return true;
    return false;
  }

  std::size_t scratch_bytes() const override { return workspace_; }

  void run(const ConvolutionData& data, void* stream) const override {
    constexpr float one = 1, zero = 0;
    constexpr std::string_view tried = "a convolution";
    LibraryHandle& h = dnn_handle(gpu_);
    const std::lock_guard lock(h.mutex);
    dnn_.check(dnn_.set_stream(h.handle, stream), "taking a stream");
    if (!bias_) {
      dnn_.check(
          dnn_.convolve(h.handle, &one, x_.get(), data.input, w_.get(), data.weights, convolution_.get(),
                        algorithm_, data.scratch, workspace_, &zero, y_.get(), data.result),
          tried);
      return;
    }
    const std::byte* const z = residual_ ? data.residual : data.result;
    dnn_.check(dnn_.convolve_with_bias(h.handle, &one, x_.get(), data.input, w_.get(), data.weights,
                                       convolution_.get(), algorithm_, data.scratch, workspace_,
                                       residual_ ? &one : &zero, y_.get(), z, bias_->get(), data.bias,
                                       activation_.get(), y_.get(), data.result),
               tried);
  }

 private:
  // Without relu, a bias is added by one algorithm alone.
  static bool fits(const DnnConvolution& c, const CudnnAlgorithm& a) {
    if (c.bias && !c.relu) return a.algorithm == implicit_precomputed_gemm;
    return a.algorithm == implicit_gemm || a.algorithm == implicit_precomputed_gemm || a.algorithm == gemm ||
           a.algorithm == direct;
  }
  // The arithmetic of float32 stays what was asked for; that of others is the algorithm's.
  bool takes_workspace(const DnnConvolution& c, void* handle, const CudnnAlgorithm& a) {
    if (c.dtype != DType::f32 && dnn_.set_math(convolution_.get(), a.math) != 0) return false;
    algorithm_ = a.algorithm;
    return dnn_.workspace_of(handle, x_.get(), w_.get(), convolution_.get(), y_.get(), algorithm_,
                             &workspace_) == 0 &&
           workspace_ <= library_workspace;
  }

  Gpu& gpu_;
  const Dnn& dnn_;
  const bool residual_;
  const LibraryObject x_, w_, y_, convolution_, activation_;
  std::optional<LibraryObject> bias_;
  int algorithm_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace

std::unique_ptr<FoundConvolution> find_by_cudnn(Gpu& gpu, const DnnConvolution& c) {
  auto found = std::make_unique<CudnnConvolution>(gpu, c);
  if (!found->find_algorithm(c)) return nullptr;
  return found;
}

}  // namespace tenon::gpu
