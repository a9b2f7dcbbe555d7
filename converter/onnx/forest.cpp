#include "converter/onnx/forest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "converter/onnx/scores.h"

namespace tenon::converter::onnx {

namespace {

/// The list, or as many zeros.
Axes integers_or_zeros(const Call& call, const std::string& name, std::size_t count) {
  return call.has(name) ? call.integers(name, {}) : Axes(count);
}

void check_length(std::string_view name, std::size_t length, std::size_t wanted) {
  if (length != wanted) throw error("its attribute {} has {} elements, others {}", name, length, wanted);
}

std::size_t place(std::int64_t index, std::size_t count, std::string_view what) {
  if (index < 0 || static_cast<std::size_t>(index) >= count)
    throw error("{} {} does not exist: there are {}", what, index, count);
  return static_cast<std::size_t>(index);
}

struct Mode {
  bool is_leaf;
  Branch branch;
};
Mode mode_of(const std::string& name) {
  constexpr std::array names = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (name == "LEAF") return {true, Branch::leq};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw error("a node has the mode '{}'", name);
  return {false, static_cast<Branch>(found - names.begin())};
}

/// Sets of values, one after the other, each ended by NaN.
std::vector<std::vector<double>> sets_of(const std::vector<double>& values) {
  std::vector<std::vector<double>> sets(1);
  for (const double v : values) {
    if (std::isnan(v))
      sets.emplace_back();
    else
      sets.back().push_back(v);
  }
  return sets;
}

/// A node that asks whether x is a member of a set becomes one node for each member.
void write_members(Forest& forest, std::size_t at, const std::vector<double>& members) {
  if (members.empty()) throw error("a node asks for members of an empty set");
  const TreeNode asked = forest.nodes[at];
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool is_last = i + 1 == members.size();
    TreeNode node = asked;
    node.branch = Branch::eq;
    node.threshold = members[i];
    // One that is missing goes to `yes` at the first member already.
    node.no = is_last ? asked.no : forest.nodes.size();
    forest.nodes[at] = node;
    at = forest.nodes.size();
    if (!is_last) forest.nodes.emplace_back();
  }
}

}  // namespace

std::size_t targets_of(const Call& call) {
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t targets = call.integer("n_targets", 1);
  if (targets < 1 || targets > most) throw error("its n_targets is {}", targets);
  return static_cast<std::size_t>(targets);
}

std::size_t Forest::depth() const {
  // The nodes of a set's members share a child: what is met more often than that is no tree.
  const std::size_t most_visits = 8 * nodes.size();
  std::vector<bool> seen(nodes.size());
  std::vector<std::size_t> level = roots;
  for (std::size_t depth = 0, visits = 0;; ++depth) {
    std::vector<std::size_t> below;
    for (const std::size_t i : level) {
      seen.at(i) = true;
      if (++visits > most_visits)
        throw error("its nodes are no trees: branches lead back, or to the same nodes");
      if (!nodes[i].is_leaf) below.insert(below.end(), {nodes[i].yes, nodes[i].no});
    }
    if (below.empty()) {
      const auto lost = std::count(seen.begin(), seen.end(), false);
      if (lost > 0) throw error("its nodes are no trees: no branch leads to {} of them", lost);
      return depth;
    }
    level = std::move(below);
  }
}

Forest forest_of_lists(const Call& call, const std::string& prefix, std::size_t targets) {
  const Axes trees = call.integers("nodes_treeids", {}), numbers = call.integers("nodes_nodeids", {});
  const std::size_t count = trees.size();
  const std::vector<std::string> modes = call.texts("nodes_modes");
  const Axes features = call.integers("nodes_featureids", {}), yes = call.integers("nodes_truenodeids", {}),
             no = call.integers("nodes_falsenodeids", {}),
             missing = integers_or_zeros(call, "nodes_missing_value_tracks_true", count);
  const std::vector<double> thresholds = reals(call, "nodes_values");
  check_length("nodes_nodeids", numbers.size(), count);
  check_length("nodes_modes", modes.size(), count);
  check_length("nodes_featureids", features.size(), count);
  check_length("nodes_truenodeids", yes.size(), count);
  check_length("nodes_falsenodeids", no.size(), count);
  check_length("nodes_missing_value_tracks_true", missing.size(), count);
  check_length("nodes_values", thresholds.size(), count);

  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places;
  for (std::size_t i = 0; i < count; ++i)
    if (!places.emplace(std::pair(trees[i], numbers[i]), i).second)
      throw error("node {} of tree {} is there twice", numbers[i], trees[i]);
  const auto find = [&](std::int64_t tree, std::int64_t number) {
    const auto found = places.find({tree, number});
    if (found == places.end()) throw error("node {} of tree {} does not exist", number, tree);
    return found->second;
  };

  Forest forest;
  forest.targets = targets;
  std::vector<bool> has_parent(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Mode mode = mode_of(modes[i]);
    TreeNode node{.is_leaf = mode.is_leaf,
                  .branch = mode.branch,
                  .feature = features[i],
                  .threshold = thresholds[i],
                  .missing_is_yes = missing[i] != 0};
    if (!node.is_leaf) {
      node.yes = find(trees[i], yes[i]);
      node.no = find(trees[i], no[i]);
      has_parent[node.yes] = has_parent[node.no] = true;
    }
    forest.nodes.push_back(node);
  }
  std::set<std::int64_t> with_root;
  for (std::size_t i = 0; i < count; ++i) {
    if (has_parent[i]) continue;
    if (!with_root.insert(trees[i]).second) throw error("tree {} has several roots", trees[i]);
    forest.roots.push_back(i);
  }

  const Axes in_tree = call.integers(prefix + "_treeids", {}), at = call.integers(prefix + "_nodeids", {}),
             target = call.integers(prefix + "_ids", {});
  const std::vector<double> weights = reals(call, prefix + "_weights");
  check_length(prefix + "_nodeids", at.size(), in_tree.size());
  check_length(prefix + "_ids", target.size(), in_tree.size());
  check_length(prefix + "_weights", weights.size(), in_tree.size());
  for (std::size_t i = 0; i < in_tree.size(); ++i) {
    const std::size_t leaf = find(in_tree[i], at[i]);
    if (!forest.nodes[leaf].is_leaf) continue;
    forest.weights.push_back({leaf, place(target[i], targets, prefix), weights[i]});
  }
  return forest;
}

Forest forest_of_tensors(const Call& call) {
  const Axes features = call.integers("nodes_featureids", {}), yes = call.integers("nodes_truenodeids", {}),
             no = call.integers("nodes_falsenodeids", {}), yes_leaf = call.integers("nodes_trueleafs", {}),
             no_leaf = call.integers("nodes_falseleafs", {});
  const std::size_t inner = features.size();
  const Axes missing = integers_or_zeros(call, "nodes_missing_value_tracks_true", inner);
  const std::vector<double> thresholds = doubles(call.data("nodes_splits")),
                            modes = doubles(call.data("nodes_modes"));
  const Axes targets = call.integers("leaf_targetids", {});
  const std::vector<double> weights = doubles(call.data("leaf_weights"));
  check_length("nodes_truenodeids", yes.size(), inner);
  check_length("nodes_falsenodeids", no.size(), inner);
  check_length("nodes_trueleafs", yes_leaf.size(), inner);
  check_length("nodes_falseleafs", no_leaf.size(), inner);
  check_length("nodes_splits", thresholds.size(), inner);
  check_length("nodes_modes", modes.size(), inner);
  check_length("nodes_missing_value_tracks_true", missing.size(), inner);
  check_length("leaf_weights", weights.size(), targets.size());

  Forest forest;
  forest.targets = targets_of(call);
  constexpr double member = 6;
  std::vector<std::size_t> asks_for_members;
  const auto child = [&](std::int64_t index, bool is_leaf) {
    return is_leaf ? inner + place(index, targets.size(), "leaf") : place(index, inner, "node");
  };
  for (std::size_t i = 0; i < inner; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= member)) throw error("a node has the mode {}", modes[i]);
    if (modes[i] == member) asks_for_members.push_back(i);
    forest.nodes.push_back({.branch = modes[i] == member ? Branch::eq : static_cast<Branch>(modes[i]),
                            .feature = features[i],
                            .threshold = thresholds[i],
                            .missing_is_yes = missing[i] != 0,
                            .yes = child(yes[i], yes_leaf[i] != 0),
                            .no = child(no[i], no_leaf[i] != 0)});
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    forest.nodes.push_back({.is_leaf = true});
    forest.weights.push_back({inner + i, place(targets[i], forest.targets, "target"), weights[i]});
  }
  if (!asks_for_members.empty()) {
    const auto sets = sets_of(doubles(call.data("membership_values")));
    for (std::size_t i = 0; i < asks_for_members.size(); ++i)
      write_members(forest, asks_for_members[i],
                    sets[place(static_cast<std::int64_t>(i), sets.size(), "set")]);
  }
  for (const std::int64_t root : call.integers("tree_roots", {}))
    forest.roots.push_back(place(root, inner, "root"));
  return forest;
}

}  // namespace tenon::converter::onnx
