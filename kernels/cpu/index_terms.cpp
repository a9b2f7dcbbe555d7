// Terms of the places that indices name. Plain loops, which the compiler turns into vector code. Built once
// per ISA.
#include "kernels/cpu/index_places.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class Index, bool first>
TENON_INLINE bool add_term(const IndexTerm& t, long stride, long n, std::int64_t* places) {
  const auto* const indices = static_cast<const Index*>(t.indices);
  using Wrapping = std::uint64_t;  // indices may be any numbers
  const auto range = static_cast<Wrapping>(t.range), step = static_cast<Wrapping>(t.step);
  Wrapping wrong = 0;  // its sign: an index is too small, or too large
  for (long i = 0; i < n; ++i) {
    const std::int64_t given = indices[i * stride];
    const auto index = static_cast<Wrapping>(given);
    wrong |= (index + range) | (range - 1 - index);
    const Wrapping before = first ? 0 : static_cast<Wrapping>(places[i]);
    places[i] = static_cast<std::int64_t>(before + (index + (given < 0 ? range : 0)) * step);
  }
  return static_cast<std::int64_t>(wrong) >= 0;
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
