// A pass is a name and a function that changes a graph. It asks the Rewriter before each change and records
// the change there.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/precision.h"
#include "ir/graph.h"

namespace tenon {

/// One change of the graph that a rule made.
struct Rewrite {
  int number;  // from 1, in the order of application
  std::string pass, rule;
  std::string location;  // where in the source model
  std::string text;      // the node that came out
};

/// A match that a rule looked at and refused.
struct RefusedMatch {
  std::string rule;
  std::string location;
  std::string reason;  // "the convolution's result is used twice"
};

struct FuseOptions {
  bool fuse = true;  // false: the passes that group are left out
  Precision precision = Precision::kept;
  /// Of the products that narrow_products may change, in its order, from 0: those that stay float32.
  std::vector<int> kept_products;
  int stop_after = -1;           // apply only the first n rewrites; -1: all
  std::vector<std::string> off;  // names of passes or rules that stay switched off
  std::function<void(std::string_view pass, const Graph&)> after_pass;  // observer: printing, checking
};

struct PassTime {
  std::string pass;
  double ms;
  int rewrites;
};

struct FuseReport {
  std::vector<Rewrite> rewrites;
  std::vector<RefusedMatch> refusals;
  std::vector<PassTime> passes;
  int products = 0;  // that narrow_products may change
};

/// Numbers, logs and permits the changes of one pass to one region.
class Rewriter {
 public:
  Rewriter(Region& region, const FuseOptions& options, FuseReport& report, std::string_view pass)
      : region_(region), options_(options), report_(report), pass_(pass) {}

  /// What the pass works on: the body, or a region of an if or loop.
  Region& region() const { return region_; }
  Graph& graph() const { return region_.graph(); }
  Precision precision() const { return options_.precision; }
  const std::vector<int>& kept_products() const { return options_.kept_products; }

  /// The number of a product, in the order of FuseOptions::kept_products.
  int next_product() { return report_.products++; }

  /// To be asked before a change at `node`. False when the rule is switched off or --stop-after-rewrite is
  /// reached.
  bool allowed(std::string_view rule, const Node& node);
  /// Records a permitted change and the node that resulted (null when none did).
  void record(std::string_view rule, const Source& location, const Node* result);
  /// The rule's pattern matched but its condition did not hold.
  void refuse(std::string_view rule, const Node& node, std::string reason);

 private:
  Region& region_;
  const FuseOptions& options_;
  FuseReport& report_;
  std::string_view pass_;
};

struct Pass {
  std::string_view name;
  std::vector<std::string_view> rules;  // what it may do, by name
  void (*run)(Rewriter&);
  bool groups = false;  // makes fused nodes: left out by --no-fuse
};

}  // namespace tenon
