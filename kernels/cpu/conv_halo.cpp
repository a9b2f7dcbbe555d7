// The padded copy, one image row at a time.
#include "kernels/cpu/conv_halo.h"

#include <algorithm>

#include "kernels/cpu/finite.h"

namespace tenon::cpu {

long Halo::row_stride() const {
  const long floats = (w.before + width + w.after) * pixel_stride();
  // Rows a multiple of 4 KiB apart would share the same sets of the L1 cache.
  return floats % 1024 == 0 ? floats + 16 : floats;
}

namespace {

// body(begin, end) for chunks of rows, on the threads.
template <class Body>
void each_chunk(long rows, long floats_per_row, ThreadPool& pool, Body body) {
  constexpr long floats_per_chunk = 32768;
  const long rows_per_chunk = std::max(1L, floats_per_chunk / std::max(1L, floats_per_row));
  pool.parallel_for((rows + rows_per_chunk - 1) / rows_per_chunk, [&](long chunk, int) {
    body(chunk * rows_per_chunk, std::min(rows, (chunk + 1) * rows_per_chunk));
  });
}

}  // namespace

template <class T>
ImageView<T> with_halo(const Halo& halo, const T* in, long in_stride, T* scratch, ThreadPool& pool,
                       std::atomic<bool>* finite) {
  const auto test = [&](const T* values, long count) {
    bool is_finite = true;
    if constexpr (std::is_same_v<T, float>)
      is_finite = all_finite(values, count);
    else
      is_finite = all_finite_halves(values, count);
    if (!is_finite) finite->store(false, std::memory_order_relaxed);
  };
  if (halo.empty() && !(halo.is_dense && in_stride != halo.channels)) {
    if (finite) {
      const bool dense = in_stride == halo.channels;
      const long pixels = halo.planes * halo.height * halo.width;
      each_chunk(pixels, halo.channels, pool, [&](long begin, long end) {
        if (dense) return test(in + begin * in_stride, (end - begin) * in_stride);
        for (long i = begin; i < end; i++) test(in + i * in_stride, halo.channels);
      });
    }
    return {in, in_stride, halo.width * in_stride, halo.height * halo.width * in_stride};
  }
  const long rows = halo.h.before + halo.height + halo.h.after;
  const long planes = halo.d.before + halo.planes + halo.d.after;
  const long row_stride = halo.row_stride();
  const auto copy_row = [&](long i) {
    const long z = i / rows - halo.d.before;
    const long y = i % rows - halo.h.before;
    T* row = scratch + i * row_stride;
    if (z < 0 || z >= halo.planes || y < 0 || y >= halo.height) {
      std::fill_n(row, row_stride, T{});
      return;
    }
    T* inner = std::fill_n(row, halo.w.before * halo.pixel_stride(), T{});
    const T* source = in + (z * halo.height + y) * halo.width * in_stride;
    if (in_stride == halo.pixel_stride() && halo.zeros == 0) {
      inner = std::copy_n(source, halo.width * halo.channels, inner);
    } else {
      for (long x = 0; x < halo.width; x++) {
        inner = std::copy_n(source + x * in_stride, halo.channels, inner);
        inner = std::fill_n(inner, halo.zeros, T{});
      }
    }
    const long length = halo.width * halo.pixel_stride();
    if (finite) test(inner - length, length);
    std::fill_n(inner, halo.w.after * halo.pixel_stride(), T{});
  };
  each_chunk(planes * rows, row_stride, pool, [&](long begin, long end) {
    for (long i = begin; i < end; i++) copy_row(i);
  });
  return {scratch, halo.pixel_stride(), row_stride, halo.plane_stride()};
}

template ImageView<float> with_halo(const Halo&, const float*, long, float*, ThreadPool&, std::atomic<bool>*);
template ImageView<std::uint16_t> with_halo(const Halo&, const std::uint16_t*, long, std::uint16_t*,
                                            ThreadPool&, std::atomic<bool>*);

}  // namespace tenon::cpu
