// Places that tensors of indices name, and the entries of each place in order.
#pragma once
#include "runtime/planner.h"

namespace tenon::gpu {

/// What one tensor of indices adds to the place of an entry.
struct IndexOperand {
  PlannedTensor indices;   // i64 or i32, expanded to the entries' sizes
  std::int64_t range = 0;  // of an index
  std::int64_t step = 1;   // of the place
  bool from_end = false;   // negative indices count from the end
};

/// Entries are numbered row-major by `sizes` (numbers and places below 2^31). Their place is the sum of what
/// the indices say, and of base * their own position.
struct Placement {
  Index sizes;
  Index base = {};  // none: 0
  std::vector<IndexOperand> operands;
  std::int64_t places = 0;

  std::int64_t entries() const { return numel(sizes); }
};

/// Kernels find indices of these types.
bool are_indices(DType);
/// Are the sizes within what kernels take? What indices add is not looked at.
bool fits(const Placement&);

/// The place of each entry (i32, dense); `wrong` for one whose index is out of range, which is a fault.
PlannedTensor places_of(Planner&, const Placement&, std::int64_t wrong);

/// The entries of place p are starts[p] .. starts[p + 1), in their order: `numbers` says which ones, `rows`
/// which row each takes. All i32.
struct PlacedEntries {
  PlannedTensor starts, rows, numbers;
};
/// `source`: which row an entry takes, where that is not the one of its number.
PlacedEntries entries_by_place(Planner&, const Placement&, const std::optional<IndexOperand>& source = {});

}  // namespace tenon::gpu
