// Pooling on channels-last images: [N, (D,) H, W, C] with any stride between pixels.
#pragma once
#include <limits>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"
#include "kernels/pool_shape.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

struct PoolRun {
  const void* in = nullptr;
  long in_stride = 0;  // elements between pixels
  void* out = nullptr;
  long out_stride = 0;
  DType type = DType::f32;  // or f64; bf16, of which means are summed in float32; of maxima integers and bool
  /// Of maxima, but of bf16: where each lies in its image's flattened spatial dims, or null.
  std::int64_t* places = nullptr;
  long places_stride = 0;
};

/// Maximum of each window; padding never wins; NaN does. Of several the first has the place, of NaN the last;
/// a window without pixels has -1. Its maximum is -infinity, of integers the low bits of the least i64.
void max_pool(const PoolShape& shape, const PoolRun& run, ThreadPool& pool);

struct AvgPoolOptions {
  bool count_include_pad = true;
  long divisor_override = 0;  // 0: none
};
/// Mean of each window, divided as PyTorch does.
void avg_pool(const PoolShape& shape, const AvgPoolOptions& options, const PoolRun& run, ThreadPool& pool);

/// Mean over windows that divide the image as evenly as they can; out_* = 1 is the global mean.
/// Kernel, stride and padding of the shape are not used.
void adaptive_avg_pool(const PoolShape& shape, long out_d, long out_h, long out_w, const PoolRun& run,
                       ThreadPool& pool);
/// Maximum over the same windows.
void adaptive_max_pool(const PoolShape& shape, long out_d, long out_h, long out_w, const PoolRun& run,
                       ThreadPool& pool);

/// Maxima along rows of f32 or f64 that lie one behind the other, as max_pool finds them.
struct PoolRows {
  const void* in = nullptr;
  void* out = nullptr;
  long rows = 0;
  DType type = DType::f32;
};
/// Are steps and windows so small that vectors of windows pay?
bool pools_rows(const PoolAxis& axis, DType type);
void max_pool_rows(const PoolAxis& axis, const PoolRows& run, ThreadPool& pool);

/// Some windows of rows. Places count from the first window's first element.
struct RowWindows {
  const void* in;
  long in_stride;   // elements from one row to the next
  long begin, end;  // of what lies inside the row
  void* out;
  long out_stride;
  long rows, count, kernel, stride, dilation;
  DType type;
};
/// Elements from the first window's first one to the last one's.
inline constexpr long most_of_row_windows = 1024;
using PoolRowWindows = void(const RowWindows& windows);
TENON_PER_ISA(PoolRowWindows, max_of_row_windows, max_of_row_windows)

/// One output pixel: a box of input pixels. Strides count elements.
struct PoolWindow {
  const void* in;
  long counts[3];
  long strides[3];
  void* out;
  // So many windows of as many pixels, and the bytes from one to the next.
  long windows = 1, in_step = 0, out_step = 0;
  double scale;  // of the sum, for means
  DType type;
  std::int64_t* places;
  long place;           // of the window's first pixel
  long place_steps[3];  // to the next one along each axis
};
/// The maximum of no integers.
template <class T>
constexpr T no_integer(DType type) {
  return is_bool(type) ? T(1) : static_cast<T>(std::numeric_limits<std::int64_t>::min());
}
using PoolPixel = void(const PoolWindow& window, long channels);
TENON_PER_ISA(PoolPixel, max_of_window, max_of_window)
TENON_PER_ISA(PoolPixel, mean_of_window, mean_of_window)
/// The maximum and its place, of one window.
TENON_PER_ISA(PoolPixel, place_of_maximum, place_of_maximum)

}  // namespace tenon::cpu
