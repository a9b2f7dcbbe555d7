// How a product becomes a step of a GPU's plan: its sides, what its group does before and behind it, and the
// kernels that there are to choose from.
#pragma once
#include <functional>
#include <optional>

#include "kernels/gpu/product_source.h"
#include "runtime/calls/prologue.h"
#include "runtime/planner.h"

namespace tenon::gpu {

/// The two sides of a product, and how they lie.
struct Sides {
  std::vector<PlannedTensor> left;  // one; of a computed left side what it is computed from
  PlannedTensor right;
  Product product;
  /// Zero points of the left one and of the right one, where it has them.
  std::vector<PlannedTensor> zeros = {};
};

/// The left side of a product: where it lies, or what it is computed from and how.
struct LeftSide {
  std::vector<PlannedTensor> buffers;
  Strided layout;  // dense if it is computed
  std::vector<LoopProgram> prologue;
};
LeftSide as_it_lies(Planner& planner, const Value* value);

/// The members of a group that compute the product's left side, and the others.
struct Parts {
  explicit Parts(const Group& whole_, std::optional<Prologue> of = {})
      : whole(whole_), prologue(std::move(of)), rest(prologue ? prologue->rest() : whole) {}
  static Parts of(const Group& whole) { return Parts(whole, Prologue::match(whole)); }

  /// order: in which it is a matrix.
  LeftSide left(Planner& planner, const Value* value, const Order& order) const;

  Group whole;
  std::optional<Prologue> prologue;
  Group rest;
};

/// Do kernels of ours multiply these dtypes?
bool multiplies(DType left, DType right);

/// The kernels for a group around a product whose result lies in this order: ours, called `name` in plans,
/// and the vendor's library's where it may multiply sides of the dtype `by_library`. `place` says where the
/// sides lie once one of them is taken. None where what is behind the product has no kernel.
std::vector<Candidate> product_candidates(const Planner&, const Parts&, const Node& anchor, const Value* bias,
                                          const Order&, Work, const std::string& name,
                                          std::function<Sides(Planner&)> place,
                                          std::optional<DType> by_library = {});

}  // namespace tenon::gpu
