// Our libraries of matrix products: what they refuse, with the call that did it.
#include "test_library.h"

namespace softgpu {
namespace {

// A product [4, 8] x [8, 4] of float32.
struct Call {
  explicit Call(Session& g)
      : library(g, {SOFTGPU_FOLDER "/libcublasLt.so.13", "cublasLt"},
                {SOFTGPU_FOLDER "/libhipblaslt.so.1", "hipblasLt"}) {
    library.call("Create", &handle);
    library.call("MatmulDescCreate", &description, library.hip ? 2 : 68, 0);
    library.call("MatmulPreferenceCreate", &preference);
    const uint64_t most = workspace_bytes;
    library.call("MatmulPreferenceSetAttribute", preference, 1, static_cast<const void*>(&most), sizeof most);
    a = layout(4, 8), b = layout(8, 4), d = layout(4, 4);
    data = pointer(g.new_floats(std::vector<float>(32, 1)));
    result = pointer(g.new_memory(64));
    workspace = pointer(g.new_memory(workspace_bytes));
  }
  void* layout(uint64_t rows, uint64_t columns) {
    void* made = nullptr;
    library.call("MatrixLayoutCreate", &made, 0, rows, columns, int64_t(rows));
    return made;
  }
  int find() {
    int found = 0;
    return library.call("MatmulAlgoGetHeuristic", handle, description, a, b, d, d, preference, 1,
                        static_cast<void*>(algorithm), &found);
  }
  int multiply() {
    return library.call("Matmul", handle, description, static_cast<const void*>(&one),
                        static_cast<const void*>(data), a, static_cast<const void*>(data), b,
                        static_cast<const void*>(&zero), static_cast<const void*>(result), d, result, d,
                        static_cast<const void*>(algorithm), workspace, size_t(workspace_bytes),
                        static_cast<void*>(nullptr));
  }
  static constexpr uint64_t workspace_bytes = 8192;
  TestedLibrary library;
  void *handle = nullptr, *description = nullptr, *preference = nullptr, *a, *b, *d, *data, *result,
       *workspace;
  alignas(16) char algorithm[256] = {};
  float one = 1, zero = 0;
};

class BlasMisuse : public testing::TestWithParam<Setting> {};
SOFTGPU_EACH_VENDOR(BlasMisuse);

TEST_P(BlasMisuse, NamesTheCall) {
  const auto refused = [&](auto misuse, const char* message) {
    expect_refused(GetParam(), &Call::find, misuse, message);
  };
  refused([](Call& c) { return c.b = c.layout(7, 4), c.find(); }, "MatmulAlgoGetHeuristic: the sizes");
  refused([](Call& c) { return c.d = c.layout(4, 5), c.multiply(); }, "Matmul: the sizes");
  refused([](Call& c) { return c.algorithm[0] = 0, c.multiply(); }, "Matmul: the algorithm is none");
  refused([](Call& c) { return c.workspace = nullptr, c.multiply(); }, "Matmul: the workspace");
  refused([](Call& c) { return c.data = &c.one, c.multiply(); },
          "Matmul: (the kernel does not start|A lies at)");
  refused(
      [](Call& c) {
        c.library.call("MatrixLayoutDestroy", c.a);
        return c.library.call("MatrixLayoutDestroy", c.a);
      },
      "MatrixLayoutDestroy: this is none");
}

TEST_P(BlasMisuse, IsNoneInARightProgram) {
  EXPECT_HOLDS(GetParam(), [](Session& g) {
    Call c(g);
    g.expect(c.find() == 0 && c.multiply() == 0, "a product");
    const auto sums = g.floats(reinterpret_cast<Address>(c.result), 16);
    g.expect(sums == std::vector<float>(16, 8), "of ones");
  });
}

}  // namespace
}  // namespace softgpu
