// Candidates of the vendors' libraries, behind kernels of ours.
#pragma once
#include <optional>

#include "runtime/planner.h"

namespace tenon::gpu {

/// All that a group does behind its anchor, where that is what libraries do, too. Values are those of the
/// graph's body.
struct LibraryEpilogue {
  const Value* bias = nullptr;      // of the columns, side by side
  const Value* residual = nullptr;  // of the result's shape, added behind the bias
  bool relu = false;                // behind both

  /// nullopt where it does more, or in another dtype than the anchor's.
  static std::optional<LibraryEpilogue> match(const Planner&, const Group&, const Node& anchor,
                                              const Value* bias);
  /// "+bias+residual+relu"
  std::string text() const;
};

/// It begins at a multiple of the bytes that libraries read at once, and so do all of its size behind it: in
/// a loop a value may be one of several slices.
inline constexpr std::uint32_t library_alignment = 16;
inline bool is_aligned_for_library(const Strided& t) {
  const auto bytes = static_cast<std::int64_t>(size_of(t.dtype()));
  return t.offset() * bytes % library_alignment == 0 && numel(t.shape()) * bytes % library_alignment == 0;
}

/// Where the device has a matrix unit for products of this dtype which is not proven, our kernel is estimated
/// as what it is: slower.
void price_without_unit(const Planner&, DType, const Work&, CandidateInfo& ours);

}  // namespace tenon::gpu
