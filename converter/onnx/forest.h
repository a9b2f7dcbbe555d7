// Decision trees as ai.onnx.ml writes them down, in one form.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// The numbers of the v5 operator's nodes_modes.
enum class Branch : std::uint8_t { leq, lt, gte, gt, eq, neq };

struct TreeNode {
  bool is_leaf = false;
  Branch branch = Branch::leq;  // where x[feature] and the threshold compare so, `yes` comes next, else `no`
  std::int64_t feature = 0;
  double threshold = 0;
  bool missing_is_yes = false;  // NaN goes to `yes`
  std::size_t yes = 0, no = 0;
};

/// What a leaf adds to a target, or to the score of a class.
struct LeafWeight {
  std::size_t leaf;
  std::size_t target;
  double weight;
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> roots;
  std::vector<LeafWeight> weights;
  std::size_t targets = 0;

  /// The steps to the deepest leaf. Throws Error when the nodes are no trees: a cycle, a node that no branch
  /// leads to.
  std::size_t depth() const;
};

/// The attribute n_targets.
std::size_t targets_of(const Call&);
/// Of TreeEnsembleRegressor ("target") or TreeEnsembleClassifier ("class"), whose weights are target_* or
/// class_*. Throws Error when its lists do not fit together.
Forest forest_of_lists(const Call&, const std::string& prefix, std::size_t targets);
/// Of TreeEnsemble.
Forest forest_of_tensors(const Call&);

}  // namespace tenon::converter::onnx
