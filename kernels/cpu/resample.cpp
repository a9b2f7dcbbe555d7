// Resized images: of each row of the result the rows that it is made of are summed, then its pixels. Where
// images of single numbers grow, their fewer rows are resized along first, and those of the last row are
// held.
#include "kernels/cpu/resample.h"

#include <algorithm>

#include "kernels/cpu/resample_rows.h"

namespace tenon::cpu {
namespace {

template <class... Arguments>
void sum_rows(const float* const* rows, Arguments... arguments) {
  sum_rows_f32(rows, arguments...);
}
template <class... Arguments>
void sum_rows(const double* const* rows, Arguments... arguments) {
  sum_rows_f64(rows, arguments...);
}
void resample_row(const AlongRow<float>& axis, const float* row, float* to) {
  resample_row_f32(axis, row, to);
}
void resample_row(const AlongRow<double>& axis, const double* row, double* to) {
  resample_row_f64(axis, row, to);
}

constexpr long alignment = 16;  // numbers

// Numbers of a row, and of gaps between its pixels.
template <class T>
long width_in(const Resample<T>& r) {
  return (r.axes.back().in - 1) * r.in.pixel + r.inner;
}

template <class T>
bool goes_along_first(const Resample<T>& r) {
  long in = 1, out = 1;
  for (std::size_t d = 0; d + 1 < r.axes.size(); ++d) in *= r.axes[d].in, out *= r.axes[d].out;
  return out > in && r.in.pixel == 1 && r.out.pixel == 1;
}

// Of a row between the two halves.
template <class T>
long row_size(const Resample<T>& r) {
  const long width = goes_along_first(r) ? r.axes.back().out : width_in(r);
  return (width + alignment - 1) / alignment * alignment;
}

/// The rows of one image that a row of the result is made of.
template <class T>
long sums_of(const Resample<T>& r) {
  long sums = 1;
  for (std::size_t d = 0; d + 1 < r.axes.size(); ++d) sums *= r.axes[d].taps;
  return sums;
}

// What a thread works with.
template <class T>
struct Workspace {
  T* rows;         // row_size numbers each: as many as are summed, where they are held, else one
  const T** held;  // what each of them was made of
  const T** from;  // the rows that are summed
  T* weights;      // of them

  static std::size_t bytes(const Resample<T>& r) {
    const auto sums = static_cast<std::size_t>(sums_of(r));
    const std::size_t rows = goes_along_first(r) ? sums : 1;
    const std::size_t size =
        rows * static_cast<std::size_t>(row_size(r)) * sizeof(T) + sums * (2 * sizeof(T*) + sizeof(T));
    return (size + 63) / 64 * 64;
  }
  Workspace(const Resample<T>& r, std::byte* memory) {
    const long sums = sums_of(r);
    rows = reinterpret_cast<T*>(memory);
    held = reinterpret_cast<const T**>(rows + row_size(r) * (goes_along_first(r) ? sums : 1));
    from = held + sums;
    weights = reinterpret_cast<T*>(from + sums);
    std::fill_n(held, sums, nullptr);
  }
};

// Resizes the rows that are summed along, but those that are held, and has `from` point to the results.
template <class T>
void take_rows(const Workspace<T>& w, long sums, long size, const AlongRow<T>& along) {
  const auto slot_of = [&](const T* row) { return std::find(w.held, w.held + sums, row) - w.held; };
  const auto is_summed = [&](const T* row) { return std::find(w.from, w.from + sums, row) < w.from + sums; };
  for (long s = 0; s < sums; ++s) {
    if (slot_of(w.from[s]) < sums) continue;
    const long slot = std::find_if_not(w.held, w.held + sums, is_summed) - w.held;
    w.held[slot] = w.from[s];
    resample_row(along, w.from[s], w.rows + slot * size);
  }
  for (long s = 0; s < sums; ++s) w.from[s] = w.rows + slot_of(w.from[s]) * size;
}

}  // namespace

template <class T>
std::size_t resample_scratch_size(const Resample<T>& r, int threads) {
  return Workspace<T>::bytes(r) * static_cast<std::size_t>(threads);
}

template <class T>
void resample(const Resample<T>& r, const T* x, T* y, std::byte* scratch, ThreadPool& pool) {
  const ResampleAxis<T>& last = r.axes.back();
  const std::size_t outer = r.axes.size() - 1;
  const long numbers_of_row = last.out * r.inner, sums = sums_of(r);
  long rows_in = 1, rows_out = 1;
  for (std::size_t d = 0; d < outer; ++d) rows_in *= r.axes[d].in, rows_out *= r.axes[d].out;
  const AlongRow<T> along{.out = last.out,
                          .taps = last.taps,
                          .inner = r.inner,
                          .in_pixel = r.in.pixel,
                          .out_pixel = r.out.pixel,
                          .places = last.places.data(),
                          .weights = last.weights.data()};
  const bool along_first = goes_along_first(r);
  constexpr long numbers_of_chunk = 1 << 14;
  const long rows = r.images * rows_out,
             per_chunk = std::max(1L, numbers_of_chunk / std::max(1L, numbers_of_row));
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int thread) {
    const Workspace<T> w(r, scratch + Workspace<T>::bytes(r) * static_cast<std::size_t>(thread));
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      const T* const image = x + row / rows_out * rows_in * r.in.row;
      for (long s = 0; s < sums; ++s) {
        long place = 0, extent = 1, rest = row % rows_out, tap = s;
        T weight = 1;
        for (std::size_t d = outer; d-- > 0;) {
          const ResampleAxis<T>& a = r.axes[d];
          const auto at = static_cast<std::size_t>(tap % a.taps * a.out + rest % a.out);
          place += a.places[at] * extent;
          weight *= a.weights[at];
          extent *= a.in;
          tap /= a.taps;
          rest /= a.out;
        }
        w.from[s] = image + place * r.in.row;
        w.weights[s] = weight;
      }
      T* const to = y + row * r.out.row;
      if (along_first) {
        take_rows(w, sums, row_size(r), along);
        sum_rows(w.from, w.weights, sums, to, last.out);
      } else {
        if (outer > 0) sum_rows(w.from, w.weights, sums, w.rows, width_in(r));
        resample_row(along, outer > 0 ? w.rows : image, to);
      }
    }
  });
}

#define TENON_RESAMPLE(T)                                              \
  template std::size_t resample_scratch_size(const Resample<T>&, int); \
  template void resample(const Resample<T>&, const T*, T*, std::byte*, ThreadPool&);
TENON_RESAMPLE(float)
TENON_RESAMPLE(double)
#undef TENON_RESAMPLE

}  // namespace tenon::cpu
