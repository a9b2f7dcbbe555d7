// Writing by index: torch.scatter and scatter_reduce along a dim. Indices are checked.
#pragma once
#include <array>
#include <optional>

#include "base/dtype.h"
#include "base/reduce.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// out = x, but out[o][indices[o][e][i]][i] = src[o][e][i], or is joined with it, in the order of e.
struct Scatter {
  long outer = 1;
  long count = 0;  // of indices along the dim
  long inner = 1;
  long extent = 0;             // of x and out along the dim: indices lie in [0, extent)
  bool from_end = false;       // negative indices count from the end
  DType dtype = DType::f32;    // can_join or can_join_few, or can_replace where nothing is joined
  std::optional<Reduce> join;  // sum, prod, min or max; none: the last one stays
  bool include_self = true;    // false: what lay where an index points is not joined
  bool averages = false;       // a sum, of no bools, is divided by how many there are, with x if it is joined
  bool x_is_one = false;       // element, of which out is full
  const void* x = nullptr;     // contiguous, as out
  void* out = nullptr;
  using Strides = std::array<long, 3>;  // of o, e, i, in elements
  const void* src = nullptr;
  Strides src_strides = {};
  const void* indices = nullptr;  // i32 or i64
  DType index_dtype = DType::i64;
  Strides index_strides = {};
};

/// Has a scatter that joins elements a kernel for this type? Integers wrap around.
constexpr bool can_join(DType t) {
  return is_bool(t) || is_integral(t) || t == DType::f32 || t == DType::f64;
}
/// The same of 16-bit floats, without means: where indices name few of the places, these alone are joined as
/// floats.
constexpr bool can_join_few(DType t) { return t == DType::f16 || t == DType::bf16; }
/// Has a scatter that joins nothing one?
constexpr bool can_replace(DType t) { return !is_string(t); }

/// Bytes of scratch that scatter() needs.
std::size_t scatter_scratch_size(const Scatter& scatter, int threads);
/// Returns -1, or the row-major position (o, e, i) of the first index that is out of range.
long scatter(const Scatter& scatter, void* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
