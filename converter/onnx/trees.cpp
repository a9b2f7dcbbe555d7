// Ensembles of decision trees: every row walks down all trees at once, one level a step.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"
#include "converter/onnx/forest.h"
#include "converter/onnx/scores.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter::onnx {

namespace {

Ref compared(Branch branch, const Ref& x, const Ref& threshold) {
  switch (branch) {
    case Branch::leq: return x <= threshold;
    case Branch::lt: return x < threshold;
    case Branch::gte: return x >= threshold;
    case Branch::gt: return x > threshold;
    case Branch::eq: return equal(x, threshold);
    case Branch::neq: return not_equal(x, threshold);
  }
  throw InternalError("a branch");
}

/// Its leaves numbered before its other nodes, so that a leaf's number is its row of the weights.
class Walk {
 public:
  Walk(const Call& call, const Forest& forest, const Ref& x) : call_(call), forest_(forest), x_(x) {
    const auto& nodes = forest.nodes;
    order_.resize(nodes.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_partition(order_.begin(), order_.end(), [&](std::size_t i) { return nodes[i].is_leaf; });
    number_.resize(nodes.size());
    for (std::size_t i = 0; i < order_.size(); ++i) number_[order_[i]] = i;
    leaves_ = static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [](auto& n) { return n.is_leaf; }));
  }

  /// The leaf that each row reaches in each tree: i64[N, trees].
  Ref leaves() const {
    std::vector<double> roots;
    for (const std::size_t root : forest_.roots) roots.push_back(static_cast<double>(number_[root]));
    const auto trees = static_cast<std::int64_t>(roots.size());
    Ref at = constant(call_, DType::i64, {1, trees}, roots, "tree.roots");
    at = expand(at, {x_.shape()[0], Dim(trees)});
    const std::size_t depth = forest_.depth();
    if (depth == 0) return at;
    const Ref features = each("feature", DType::i64, [](const TreeNode& n) {
      return n.is_leaf ? 0.0 : static_cast<double>(n.feature);
    });
    const Ref thresholds = each("threshold", x_.dtype(), [](const TreeNode& n) { return n.threshold; });
    const Ref yes = next("yes", &TreeNode::yes), no = next("no", &TreeNode::no);
    for (std::size_t step = 0; step < depth; ++step) {
      const Ref value = gather(x_, 1, index_select(features, 0, at));
      const Ref holds = branches(value, index_select(thresholds, 0, at), at);
      at = where(holds, index_select(yes, 0, at), index_select(no, 0, at));
    }
    return at;
  }

  /// What the leaves add to each target, [N, trees, targets]; `nothing` where a leaf adds nothing.
  Ref weights(DType dtype, double nothing) const {
    constexpr std::size_t most_weights = std::size_t{1} << 28;
    const std::size_t targets = forest_.targets;
    if (leaves_ > most_weights / targets)
      throw unsupported("{} leaves with weights for {} targets", leaves_, targets);
    std::vector<double> matrix(leaves_ * targets, nothing);
    std::set<std::size_t> filled;
    for (const LeafWeight& w : forest_.weights) {
      const std::size_t cell = number_[w.leaf] * targets + w.target;
      matrix[cell] = filled.insert(cell).second ? w.weight : matrix[cell] + w.weight;
    }
    const Ref all =
        constant(call_, dtype, {static_cast<std::int64_t>(leaves_), static_cast<std::int64_t>(targets)},
                 matrix, "leaf.weight");
    return index_select(all, 0, leaves());
  }

 private:
  template <class F>
  Ref each(const std::string& name, DType dtype, F value) const {
    std::vector<double> values;
    for (const std::size_t i : order_) values.push_back(value(forest_.nodes[i]));
    return constant(call_, dtype, {static_cast<std::int64_t>(values.size())}, values, "tree." + name);
  }
  /// The number of a child; a leaf stays where it is.
  Ref next(const std::string& name, std::size_t TreeNode::*child) const {
    std::size_t self = 0;
    return each(name, DType::i64, [&](const TreeNode& n) {
      const std::size_t here = self++;
      return static_cast<double>(n.is_leaf ? here : number_[n.*child]);
    });
  }

  Ref branches(const Ref& value, const Ref& threshold, const Ref& at) const {
    std::set<Branch> kinds;
    bool tracks_missing = false;
    for (const TreeNode& n : forest_.nodes) {
      if (!n.is_leaf) kinds.insert(n.branch);
      tracks_missing = tracks_missing || n.missing_is_yes;
    }
    Ref holds = compared(*kinds.begin(), value, threshold);
    for (auto kind = std::next(kinds.begin()); kind != kinds.end(); ++kind) {
      const Ref is_kind =
          each("is_kind", DType::boolean, [&](const TreeNode& n) { return n.branch == *kind; });
      holds = where(index_select(is_kind, 0, at), compared(*kind, value, threshold), holds);
    }
    if (!tracks_missing) return holds;
    const Ref missing = each("missing", DType::boolean, [](const TreeNode& n) { return n.missing_is_yes; });
    return logical_or(holds, logical_and(tenon::apply(IsNan{}, {value}), index_select(missing, 0, at)));
  }

  const Call& call_;
  const Forest& forest_;
  const Ref x_;
  std::vector<std::size_t> order_, number_;
  std::size_t leaves_ = 0;
};

enum class Aggregate : std::uint8_t { average, sum, min, max };

Ref aggregated(const Call& call, const Forest& forest, const Ref& x, Aggregate how) {
  if (forest.roots.empty()) throw error("it has no trees");
  for (const TreeNode& n : forest.nodes)
    if (const Dim& features = x.shape()[1];
        !n.is_leaf && features.is_known() && (n.feature < 0 || n.feature >= features.value()))
      throw error("a tree asks for feature {} of {}", n.feature, features.str());
  const Walk walk(call, forest, x);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (how == Aggregate::sum) return sum(walk.weights(x.dtype(), 0), {1});
  if (how == Aggregate::average)
    return sum(walk.weights(x.dtype(), 0), {1}) / static_cast<double>(forest.roots.size());
  const bool least = how == Aggregate::min;
  const Ref weights = walk.weights(x.dtype(), least ? infinity : -infinity);
  const Ref extreme = least ? amin(weights, {1}) : amax(weights, {1});
  return where(tenon::apply(IsInf{}, {extreme}), extreme.literal(0), extreme);  // no tree has the target
}

Aggregate aggregate_of(const std::string& name) {
  constexpr std::array names = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw error("its aggregate_function is '{}'", name);
  return static_cast<Aggregate>(found - names.begin());
}

/// Doubles where x or the model is double, else floats.
Ref features(const Call& call) {
  const Ref x = matrix_of_features(call);
  return cast(
      call.has("nodes_values_as_tensor") ? call.data("nodes_values_as_tensor").dtype() : working(x).dtype(),
      x);
}

Ref with_base(const Call& call, const Ref& scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  const auto count = static_cast<std::int64_t>(base.size());
  if (scores.shape()[1] != Dim(count))
    throw error("{} base_values for {} scores", count, scores.shape()[1].str());
  return scores + constant(call, scores.dtype(), {1, count}, base, "base");
}

Operands tree_regressor(Call& call) {
  const Forest forest = forest_of_lists(call, "target", targets_of(call));
  const Ref scores =
      aggregated(call, forest, features(call), aggregate_of(call.text("aggregate_function", "SUM")));
  return {regression(call, cast(DType::f32, with_base(call, scores, reals(call, "base_values"))))};
}

Operands ensemble(Call& call) {
  Ref x = call.tensor(0);
  check_rank("X", x.type(), 2);
  const Forest forest = forest_of_tensors(call);
  constexpr std::array transforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t how = call.integer("aggregate_function", 1), after = call.integer("post_transform", 0);
  if (how < 0 || how > 3) throw error("its aggregate_function is {}", how);
  if (after < 0 || after >= static_cast<std::int64_t>(transforms.size()))
    throw error("its post_transform is {}", after);
  if (after != 0 && forest.targets == 1) throw unsupported("a post_transform of a single target");
  const Ref y = aggregated(call, forest, working(x), static_cast<Aggregate>(how));
  return {cast(x.dtype(), transformed(transforms[static_cast<std::size_t>(after)], y))};
}

Operands tree_classifier(Call& call) {
  const Labels labels(call, "classlabels_int64s");
  const std::size_t classes = labels.count();
  if (classes < 2) throw unsupported("a classifier of {} classes", classes);
  const Forest forest = forest_of_lists(call, "class", classes);
  std::set<std::size_t> scored;
  bool all_positive = true;
  for (const LeafWeight& w : forest.weights) {
    scored.insert(w.target);
    all_positive = all_positive && w.weight >= 0;
  }
  Ref scores = cast(DType::f32, aggregated(call, forest, features(call), Aggregate::sum));
  const std::vector<double> base = reals(call, "base_values");
  const std::string how = call.text("post_transform", "NONE");
  if (classes > 2) {
    if (scored.size() < classes && base.empty()) throw unsupported("classes that no tree knows");
    scores = with_base(call, scores, base);
    return {labels.of(tenon::apply(ArgMax{.axis = 1}, {scores})), transformed(how, scores)};
  }
  // Two classes: the trees know the score of one.
  if (scored.size() != 1 || base.size() > 1 || (!base.empty() && *scored.begin() == 1))
    throw unsupported("two classes whose trees know both")
        .hint("runtimes disagree about the label: give the trees weights of the first class alone");
  const auto known = static_cast<std::int64_t>(*scored.begin());
  Ref score = slice(scores, 1, known, known + 1);
  if (!base.empty()) score = score + base[0];
  const Ref wins = score > score.literal(all_positive ? 0.5 : 0.0);
  const Ref of = reshape(cast(DType::i64, wins), {score.shape()[0]});
  if (known == 1) return {labels.of(of), transformed(how, scores)};
  return {labels.of(of), second_class_added(how, score, all_positive)};
}

}  // namespace

std::span<const OnnxEntry> tree_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ai.onnx.ml.TreeEnsemble", ensemble},
      OnnxEntry{"ai.onnx.ml.TreeEnsembleClassifier", tree_classifier},
      OnnxEntry{"ai.onnx.ml.TreeEnsembleRegressor", tree_regressor},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
