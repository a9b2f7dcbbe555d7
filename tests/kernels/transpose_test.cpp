// Transposing copies move every element, whatever the sizes and strides, and touch nothing else.
#include "kernels/cpu/transpose.h"

#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Transpose : public OnEveryIsa {};
TENON_EVERY_ISA(Transpose);

TEST_P(Transpose, SwapsRowsAndColumnsOfAnySize) {
  ThreadPool pool(2);
  for (const long rows : {1, 2, 3, 7, 8, 15, 16, 17, 64, 65, 130}) {
    for (const long cols : {1, 3, 4, 5, 8, 9, 16, 31, 64, 100}) {
      const long source_stride = cols + 2;
      const long target_stride = rows + 3;
      constexpr long batch = 2;
      std::vector<float> source(static_cast<std::size_t>(batch * rows * source_stride));
      for (std::size_t i = 0; i < source.size(); i++) source[i] = static_cast<float>(i);
      std::vector<float> target(static_cast<std::size_t>(batch * cols * target_stride), -1.0f);
      transpose_copy({batch, rows, cols, source.data(), rows * source_stride, source_stride, target.data(),
                      cols * target_stride, target_stride},
                     pool);
      for (long i = 0; i < static_cast<long>(target.size()); i++) {
        const long b = i / (cols * target_stride);
        const long c = i / target_stride % cols;
        const long r = i % target_stride;
        const float expected =
            r < rows ? source[static_cast<std::size_t>((b * rows + r) * source_stride + c)] : -1.0f;
        ASSERT_EQ(target[static_cast<std::size_t>(i)], expected) << rows << " x " << cols << " at " << i;
      }
    }
  }
}

TEST_P(Transpose, NhwcAndBackIsTheIdentity) {
  ThreadPool pool(1);
  std::vector<float> image(2 * 5 * 77);
  for (std::size_t i = 0; i < image.size(); i++) image[i] = static_cast<float>(i);
  std::vector<float> nhwc(2 * 77 * 8);
  std::vector<float> back(image.size());
  nchw_to_nhwc(2, 5, 77, image.data(), nhwc.data(), 8, pool);
  EXPECT_EQ(nhwc[8 + 2], image[2 * 77 + 1]);
  nhwc_to_nchw(2, 5, 77, nhwc.data(), 8, back.data(), pool);
  EXPECT_EQ(image, back);
}

}  // namespace
}  // namespace tenon::cpu
