// Convolutions by MIOpen's immediate mode; bias and relu are passes behind them.
#include <array>
#include <optional>
#include <span>

#include "runtime/gpu/dnn_convolution.h"

namespace tenon::gpu {
namespace {

using namespace miopen_numbers;

class MiopenConvolution : public FoundConvolution {
 public:
  MiopenConvolution(Gpu& gpu, const DnnConvolution& c)
      : gpu_(gpu),
        dnn_(dnn(Vendor::hip)),
        x_(describe_tensor(dnn_, c.dtype, c.input)),
        w_(describe_tensor(dnn_, c.dtype, c.weights)),
        y_(describe_tensor(dnn_, c.dtype, c.result)),
        convolution_(make_object(dnn_, dnn_.create_convolution, dnn_.destroy_convolution)) {
    constexpr std::string_view tried = "describing a convolution";
    dnn_.check(dnn_.init_convolution(convolution_.get(), static_cast<int>(c.pad.size()), c.pad.data(),
                                     c.stride.data(), c.dilation.data(), dnn_.numbers.correlation),
               tried);
    dnn_.check(dnn_.set_groups(convolution_.get(), c.groups), tried);
    dnn_.check(dnn_.set_attribute(convolution_.get(), deterministic, 1), tried);
    if (c.bias) {
      std::vector<int> sizes(c.result.size(), 1);
      sizes[1] = c.result[1];
      bias_.emplace(describe_tensor(dnn_, c.dtype, sizes));
    }
    if (c.relu) {
      activation_.emplace(make_object(dnn_, dnn_.create_activation, dnn_.destroy_activation));
      dnn_.check(dnn_.set_activation_factors(activation_->get(), dnn_.numbers.relu, 0, 0, 0), tried);
    }
  }

  bool find_solution() {
    LibraryHandle& h = dnn_handle(gpu_);
    const std::lock_guard lock(h.mutex);
    std::array<MiopenSolution, 16> all{};
    std::size_t found = 0;
    if (dnn_.find_solutions(h.handle, w_.get(), x_.get(), convolution_.get(), y_.get(), all.size(), &found,
                            all.data()) != 0)
      return false;
    for (const MiopenSolution& s : std::span(all).first(found)) {
      const bool sums_products = s.algorithm == gemm || s.algorithm == direct || s.algorithm == implicit_gemm;
      if (!sums_products || s.workspace > library_workspace) continue;
      if (dnn_.compile_solution(h.handle, w_.get(), x_.get(), convolution_.get(), y_.get(), s.id) != 0)
        continue;
      solution_ = s;
      return true;
    }
    return false;
  }

  std::size_t scratch_bytes() const override { return solution_.workspace; }

  void run(const ConvolutionData& data, void* stream) const override {
    constexpr float one = 1, zero = 0;
    LibraryHandle& h = dnn_handle(gpu_);
    const std::lock_guard lock(h.mutex);
    dnn_.check(dnn_.set_stream(h.handle, stream), "taking a stream");
    dnn_.check(
        dnn_.convolve_by_solution(h.handle, w_.get(), data.weights, x_.get(), data.input, convolution_.get(),
                                  y_.get(), data.result, solution_.workspace ? data.scratch : nullptr,
                                  solution_.workspace, solution_.id),
        "a convolution");
    if (bias_)
      dnn_.check(dnn_.add_bias(h.handle, &one, bias_->get(), data.bias, &zero, y_.get(), data.result),
                 "adding a bias");
    if (activation_)
      dnn_.check(dnn_.activate(h.handle, activation_->get(), &one, y_.get(), data.result, &zero, y_.get(),
                               data.result),
                 "relu");
  }

 private:
  Gpu& gpu_;
  const Dnn& dnn_;
  const LibraryObject x_, w_, y_, convolution_;
  std::optional<LibraryObject> bias_, activation_;
  MiopenSolution solution_{};
};

}  // namespace

std::unique_ptr<FoundConvolution> find_by_miopen(Gpu& gpu, const DnnConvolution& c) {
  auto found = std::make_unique<MiopenConvolution>(gpu, c);
  if (!found->find_solution()) return nullptr;
  return found;
}

}  // namespace tenon::gpu
