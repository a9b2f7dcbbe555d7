// Each spatial axis gives every output place a few input places with weights; their products are summed.
#include <array>

#include "ir/ops/geometry.h"
#include "ir/ops/interpolate_taps.h"
#include "ir/ops/reference.h"

namespace tenon {

void Interpolate::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const std::size_t dims = x.rank() - 2;
  const Geometry g(x.shape(), out[0].shape(), Axes(dims, 1), {1}, {0}, {1});
  std::array<std::vector<Taps>, 3> taps;
  for (std::size_t d = 0; d < 3; ++d)
    taps[d] = d + dims < 3 ? std::vector<Taps>{{{0, 1}}}
                           : taps_along(*this, in[0].dtype(), d + dims - 3, g.in[d], g.out[d]);
  Tensor wide = Tensor::empty(x.dtype(), out[0].shape());
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    T* y = wide.mutable_data<T>();
    for (std::int64_t plane = 0; plane < x.shape()[0] * x.shape()[1]; ++plane) {
      const T* input = x.data<T>() + plane * product(g.in);
      for_each_place(g.out, [&](const Spatial& at) {
        T sum = 0;
        for (const Tap& a : taps[0][static_cast<std::size_t>(at[0])])
          for (const Tap& b : taps[1][static_cast<std::size_t>(at[1])])
            for (const Tap& c : taps[2][static_cast<std::size_t>(at[2])])
              sum += static_cast<T>(a.weight * b.weight * c.weight) *
                     input[linear_place({a.place, b.place, c.place}, g.in)];
        *y++ = sum;
      });
    }
  });
  out[0].copy_from(wide);
}

}  // namespace tenon
