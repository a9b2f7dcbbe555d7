// Our libraries of convolutions: what they refuse, with the call that did it.
#include "test_library.h"

namespace softgpu {
namespace {

// A convolution [1, 4, 5, 5] with [4, 4, 3, 3] of float32, padded by 1.
struct Call {
  explicit Call(Session& g)
      : library(g, {SOFTGPU_FOLDER "/libcudnn.so.9", "cudnn"}, {SOFTGPU_FOLDER "/libMIOpen.so.1", "miopen"}) {
    library.call("Create", &handle);
    x = tensor(4), y = tensor(4);
    library.call("CreateConvolutionDescriptor", &convolution);
    const std::vector<int> ones(2, 1), filter{4, 4, 3, 3}, strides{36, 1, 12, 4};
    const int* const one_each = ones.data();
    if (library.hip) {
      library.call("CreateTensorDescriptor", &w);
      library.call("SetTensorDescriptor", w, 1, 4, filter.data(), strides.data());
      library.call("InitConvolutionNdDescriptor", convolution, 2, one_each, one_each, one_each, 0);
    } else {
      library.call("CreateFilterDescriptor", &w);
      library.call("SetFilterNdDescriptor", w, 0, 1, 4, filter.data());
      library.call("SetConvolutionNdDescriptor", convolution, 2, one_each, one_each, one_each, 1, 0);
      library.call("SetConvolutionMathType", convolution, 3);
    }
    input = pointer(g.new_floats(std::vector<float>(100, 1)));
    weights = pointer(g.new_floats(std::vector<float>(144, 1)));
    result = pointer(g.new_memory(400));
    workspace = pointer(g.new_memory(workspace_bytes));
  }
  void* tensor(int channels) {
    void* made = nullptr;
    const int sizes[] = {1, channels, 5, 5}, strides[] = {25 * channels, 1, 5 * channels, channels};
    library.call("CreateTensorDescriptor", &made);
    library.call(library.hip ? "SetTensorDescriptor" : "SetTensorNdDescriptor", made, library.hip ? 1 : 0, 4,
                 static_cast<const int*>(sizes), static_cast<const int*>(strides));
    return made;
  }
  int compile() {
    return library.hip ? library.call("ConvolutionForwardCompileSolution", handle, w, x, convolution, y,
                                      uint64_t{103})
                       : 0;
  }
  int convolve() {
    if (library.hip)
      return library.call("ConvolutionForwardImmediate", handle, w, static_cast<const void*>(weights), x,
                          static_cast<const void*>(input), convolution, y, static_cast<void*>(result),
                          workspace, workspace ? size_t(workspace_bytes) : size_t(0), uint64_t{103});
    return library.call("ConvolutionForward", handle, static_cast<const float*>(&one), x,
                        static_cast<const void*>(input), w, static_cast<const void*>(weights), convolution, 1,
                        static_cast<void*>(workspace), size_t(workspace_bytes),
                        static_cast<const float*>(&zero), y, static_cast<void*>(result));
  }
  static constexpr uint64_t workspace_bytes = 8192;
  TestedLibrary library;
  void *handle = nullptr, *x, *w = nullptr, *y, *convolution = nullptr, *input, *weights, *result, *workspace;
  float one = 1, zero = 0;
};

class DnnMisuse : public testing::TestWithParam<Setting> {};
SOFTGPU_EACH_VENDOR(DnnMisuse);

TEST_P(DnnMisuse, NamesTheCall) {
  const auto refused = [&](auto misuse, const char* message) {
    expect_refused(GetParam(), &Call::compile, misuse, message);
  };
  refused([](Call& c) { return c.x = c.tensor(5), c.convolve(); }, "ConvolutionForward.*: the sizes");
  refused([](Call& c) { return c.workspace = nullptr, c.convolve(); }, "ConvolutionForward.*: the workspace");
  refused([](Call& c) { return c.input = static_cast<char*>(c.input) + 4, c.convolve(); },
          "ConvolutionForward.*: a tensor lies at no multiple of 16 bytes");
  refused([](Call& c) { return c.convolution = nullptr, c.convolve(); },
          "ConvolutionForward.*: a description is none");
  refused(
      [](Call& c) {
        c.library.call("DestroyTensorDescriptor", c.x);
        return c.library.call("DestroyTensorDescriptor", c.x);
      },
      "DestroyTensorDescriptor: this is none");
}

TEST(DnnMisuse, ASolutionIsCompiledBeforeItRuns) {
  const auto body = [](Session& g) {
    Call c(g);
    g.expect(c.convolve() != 0, "a misuse is refused");
  };
  EXPECT_SAYS((Setting{"hip", Vendor::hip, "lazy"}), body, "is not compiled");
}

TEST_P(DnnMisuse, IsNoneInARightProgram) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    Call c(g);
    g.expect(c.compile() == 0 && c.convolve() == 0, "a convolution");
    const auto sums = g.floats(reinterpret_cast<Address>(c.result), 100);
    g.expect(sums[0] == 16 && sums[4] == 24 && sums[48] == 36, "of ones, at a corner, an edge and inside");
  });
}

}  // namespace
}  // namespace softgpu
