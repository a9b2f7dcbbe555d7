// Terms of the places that indices name. Plain loops, which the compiler turns into vector code. Built once
// per ISA.
#include "kernels/cpu/index_places.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class Index, bool first>
TENON_INLINE bool add_term(const IndexTerm& t, long stride, long n, std::int64_t* places) {
  const auto* const indices = static_cast<const Index*>(t.indices);
  const std::int64_t range = t.range, step = t.step;
  std::int64_t wrong = 0;  // its sign: an index is too small, or too large
  for (long i = 0; i < n; ++i) {
    const std::int64_t index = indices[i * stride];
    wrong |= (index + range) | (range - 1 - index);
    places[i] = (first ? 0 : places[i]) + (index + (index < 0 ? range : 0)) * step;
  }
  return wrong >= 0;
}

template <class Index, bool first>
bool add_term(const IndexTerm& t, long n, std::int64_t* places) {
  return t.stride == 1 ? add_term<Index, first>(t, 1, n, places)
                       : add_term<Index, first>(t, t.stride, n, places);
}

}  // namespace

bool add_index_term(const IndexTerm& t, long n, std::int64_t* places) {
  if (t.wide)
    return t.first ? add_term<std::int64_t, true>(t, n, places) : add_term<std::int64_t, false>(t, n, places);
  return t.first ? add_term<std::int32_t, true>(t, n, places) : add_term<std::int32_t, false>(t, n, places);
}

}  // namespace tenon::cpu::TENON_ISA
