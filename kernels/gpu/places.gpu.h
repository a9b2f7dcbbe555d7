// Which place each index names, and where the entries of each place lie once they are in order.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

constexpr int places_rank = 8;

/// What one tensor of indices adds to an entry's place: step * index.
struct IndexTerm {
  Int strides[places_rank], range, step, from_end;
};

/// Entries are numbered row-major by `sizes`; `base` is what their own positions add to their place.
template <int Terms>
struct PlacesShape {
  Int count, wrong;  // the place of an entry with an index out of range
  Int sizes[places_rank], base[places_rank];
  IndexTerm terms[Terms];
};

template <int Terms>
struct Entry {
  GPU_INLINE Entry(const PlacesShape<Terms>& shape, Int number) : s(shape), place(0) {
    unsigned rest = static_cast<unsigned>(number);
#pragma unroll
    for (int d = places_rank - 1; d >= 0; --d) {
      const unsigned size = static_cast<unsigned>(s.sizes[d]);
      at[d] = size > 1 ? rest % size : 0;
      if (size > 1) rest /= size;
      place += at[d] * s.base[d];
    }
  }
  template <class T>
  GPU_INLINE void add(int term, const T* indices) {
    const IndexTerm& t = s.terms[term];
    Int from = 0;
#pragma unroll
    for (int d = 0; d < places_rank; ++d) from += at[d] * t.strides[d];
    place += place_of(static_cast<Int>(indices[from]), t.range, t.from_end != 0, bad) * t.step;
  }
  const PlacesShape<Terms>& s;
  Int at[places_rank], place;
  BadOperand bad;
};

struct StartsShape {
  Int count, places, range, from_end;  // range: of the sources
};

/// starts[p] = how many keys, which are in order, are less than p.
GPU_INLINE void find_start(const unsigned* keys, int* starts, const StartsShape& s, Int place) {
  if (place > s.places) return;
  Int low = 0, high = s.count;
  while (low < high) {
    const Int middle = (low + high) / 2;
    if (keys[middle] < static_cast<unsigned long>(place))
      low = middle + 1;
    else
      high = middle;
  }
  starts[place] = static_cast<int>(low);
}

/// The row that each entry takes, in their order.
template <class T>
GPU_INLINE void find_source(const int* order, const T* sources, int* rows, Fault* fault, const StartsShape& s,
                            Int entry) {
  if (entry >= s.count) return;
  BadOperand bad;
  rows[entry] =
      static_cast<int>(place_of(static_cast<Int>(sources[order[entry]]), s.range, s.from_end != 0, bad));
  report(fault, bad);
}

}  // namespace tenon::gpu
