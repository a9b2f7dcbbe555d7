// One pooling window: vectors over channels, several of them at once so that sums overlap. Built once per
// ISA.
#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct Max {
  static TENON_INLINE vf first() { return broadcast(-__builtin_inff()); }
  static TENON_INLINE vf step(vf a, vf b) { return max(a, b); }
  static TENON_INLINE vf last(vf v, float) { return v; }
};
struct Mean {
  static TENON_INLINE vf first() { return vf{}; }
  static TENON_INLINE vf step(vf a, vf b) { return a + b; }
  static TENON_INLINE vf last(vf v, float scale) { return v * scale; }
};

template <class Op, int Vectors, bool Whole>
TENON_INLINE void channels_of_window(const PoolWindow& w, long c, int lanes) {
  vf v[Vectors];
  TENON_UNROLL
  for (int i = 0; i < Vectors; i++) v[i] = Op::first();
  for (long z = 0; z < w.counts[0]; z++) {
    for (long y = 0; y < w.counts[1]; y++) {
      const float* p = w.in + z * w.strides[0] + y * w.strides[1] + c;
      for (long x = 0; x < w.counts[2]; x++, p += w.strides[2]) {
        TENON_UNROLL
        for (int i = 0; i < Vectors; i++) {
          v[i] = Op::step(v[i], Whole ? load(p + i * VL) : load_partial(p + i * VL, lanes));
        }
      }
    }
  }
  TENON_UNROLL
  for (int i = 0; i < Vectors; i++) {
    const vf result = Op::last(v[i], w.scale);
    if constexpr (Whole) {
      store(w.out + c + i * VL, result);
    } else {
      store_partial(w.out + c + i * VL, result, lanes);
    }
  }
}

template <class Op>
void window(const PoolWindow& w, long channels) {
  long c = 0;
  for (; c + 4 * VL <= channels; c += 4 * VL) channels_of_window<Op, 4, true>(w, c, VL);
  for (; c + VL <= channels; c += VL) channels_of_window<Op, 1, true>(w, c, VL);
  if (c < channels) channels_of_window<Op, 1, false>(w, c, static_cast<int>(channels - c));
}

}  // namespace

void max_of_window(const PoolWindow& w, long channels) { window<Max>(w, channels); }
void mean_of_window(const PoolWindow& w, long channels) { window<Mean>(w, channels); }

}  // namespace tenon::cpu::TENON_ISA
