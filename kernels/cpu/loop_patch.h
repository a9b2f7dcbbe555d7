// Patches: two dims of elements that are moved as they are, by loops and copies. Internal to the kernels.
#pragma once

namespace tenon::cpu {

/// to[r * to_row + c * to_col] = from[r * from_row + c * from_col] for r < rows, c < cols. Strides count
/// elements; those of the source may be 0. The two are the same elements, or do not overlap.
struct Patch {
  void* to = nullptr;
  const void* from = nullptr;
  long rows = 1;
  long cols = 1;
  long to_row = 0;
  long to_col = 1;
  long from_row = 0;
  long from_col = 1;
};
using PatchFn = void (*)(const Patch&);

/// Of elements of 1, 2, 4 or 8 bytes, in the ISA in use.
PatchFn patch_op(long element_size);

}  // namespace tenon::cpu
