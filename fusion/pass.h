// A pass is a name and a function from graph to graph; what it may ask of its surroundings is the Rewriter.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// One change of the graph that a rule made.
struct Rewrite {
  int number;  // from 1, in the order of application
  std::string pass, rule;
  std::string place;  // where in the source model
  std::string text;   // the node that came out
};

/// A match that a rule looked at and refused.
struct Refusal {
  std::string rule;
  std::string place;
  std::string reason;  // "the convolution's result is used twice"
};

struct FuseOptions {
  bool fuse = true;              // false: the passes that group are left out
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
  std::vector<Refusal> refusals;
  std::vector<PassTime> passes;
};

/// Numbers, logs and permits the changes of one pass to one region.
class Rewriter {
 public:
  Rewriter(Region& region, const FuseOptions& options, FuseReport& report, std::string_view pass)
      : region_(region), options_(options), report_(report), pass_(pass) {}

  /// What the pass works on: the body, or a region of an if or loop.
  Region& region() const { return region_; }
  Graph& graph() const { return region_.graph(); }

  /// To be asked before a change at `node`: false when the rule is off or the limit is reached.
  bool may(std::string_view rule, const Node& node);
  /// To be told after a permitted change, with the node that came out (null when none did).
  void did(std::string_view rule, const Source& place, const Node* result);
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
