// The padded copy, one image row at a time.
#include "kernels/cpu/conv_halo.h"

#include <algorithm>

namespace tenon::cpu {

long Halo::row_stride() const {
  const long floats = (w.before + width + w.after) * channels;
  // Rows a multiple of 4 KiB apart would share the same sets of the L1 cache.
  return floats % 1024 == 0 ? floats + 16 : floats;
}

ImageView with_halo(const Halo& halo, const float* in, long in_stride, float* scratch, ThreadPool& pool) {
  if (halo.empty()) return {in, in_stride, halo.width * in_stride, halo.height * halo.width * in_stride};
  const long rows = halo.h.before + halo.height + halo.h.after;
  const long planes = halo.d.before + halo.planes + halo.d.after;
  const long row_stride = halo.row_stride();
  const auto copy_row = [&](long i) {
    const long z = i / rows - halo.d.before;
    const long y = i % rows - halo.h.before;
    float* row = scratch + i * row_stride;
    if (z < 0 || z >= halo.planes || y < 0 || y >= halo.height) {
      std::fill_n(row, row_stride, 0.0f);
      return;
    }
    float* inner = std::fill_n(row, halo.w.before * halo.channels, 0.0f);
    const float* source = in + (z * halo.height + y) * halo.width * in_stride;
    if (in_stride == halo.channels) {
      inner = std::copy_n(source, halo.width * halo.channels, inner);
    } else {
      for (long x = 0; x < halo.width; x++) {
        inner = std::copy_n(source + x * in_stride, halo.channels, inner);
      }
    }
    std::fill_n(inner, halo.w.after * halo.channels, 0.0f);
  };
  constexpr long floats_per_chunk = 32768;
  const long rows_per_chunk = std::max(1L, floats_per_chunk / row_stride);
  const long all_rows = planes * rows;
  pool.parallel_for((all_rows + rows_per_chunk - 1) / rows_per_chunk, [&](long chunk, int) {
    const long end = std::min(all_rows, (chunk + 1) * rows_per_chunk);
    for (long i = chunk * rows_per_chunk; i < end; i++) copy_row(i);
  });
  return {scratch, halo.channels, row_stride, halo.plane_stride()};
}

}  // namespace tenon::cpu
