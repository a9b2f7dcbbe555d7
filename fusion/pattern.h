// A piece of graph written as an expression with holes, and what a match binds.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tenon {

struct Add;
struct Sub;
struct Mul;
struct Div;

/// Part of a pattern. Written as the computation it stands for: w * (x * rsqrt(mean(x * x) + eps)).
class Pattern {
 public:
  enum class Kind : std::uint8_t { any, number, literal, op };
  struct Node {
    Kind kind;
    std::string name;            // any, number: the hole
    double literal = 0;          // literal: this value, up to float rounding
    const OpInfo* op = nullptr;  // op: this operator with any attributes
    std::vector<Pattern> args;
  };

  Pattern(double literal)
      : node_(std::make_shared<const Node>(Node{Kind::literal, {}, literal, nullptr, {}})) {}
  explicit Pattern(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}
  const Node& node() const { return *node_; }

 private:
  std::shared_ptr<const Node> node_;
};

/// Any value; the same hole twice is the same value twice.
inline Pattern hole(std::string name) {
  return Pattern({Pattern::Kind::any, std::move(name), 0, nullptr, {}});
}
/// A rank-0 constant.
inline Pattern number(std::string name) {
  return Pattern({Pattern::Kind::number, std::move(name), 0, nullptr, {}});
}
/// Operator T with any attributes; Match::op<T>() gives them.
template <class T, class... Args>
Pattern op(const Args&... args) {
  return Pattern({Pattern::Kind::op, {}, 0, &op_info<T>(), {Pattern(args)...}});
}
inline Pattern operator+(const Pattern& a, const Pattern& b) { return op<Add>(a, b); }
inline Pattern operator-(const Pattern& a, const Pattern& b) { return op<Sub>(a, b); }
inline Pattern operator*(const Pattern& a, const Pattern& b) { return op<Mul>(a, b); }
inline Pattern operator/(const Pattern& a, const Pattern& b) { return op<Div>(a, b); }

/// Where a pattern stands in a graph.
class Match {
 public:
  /// The value of a hole.
  Value* operator[](const std::string& hole) const { return values_.at(hole); }
  bool has(const std::string& hole) const { return values_.contains(hole); }
  /// The constant of a number hole.
  double number(const std::string& hole) const;
  /// The matched node of operator T (the first one in the pattern's order, or the index-th).
  template <class T>
  const T& op(std::size_t index = 0) const {
    return *find(op_info<T>(), index)->template as<T>();
  }
  Node* find(const OpInfo&, std::size_t index = 0) const;
  Node* root() const { return nodes_.front(); }
  /// All matched nodes, the root first.
  const std::vector<Node*>& nodes() const { return nodes_; }
  /// The union of the nodes' sources, in graph order of the pattern from its leaves.
  Source source() const;

 private:
  friend class Matcher;
  std::unordered_map<std::string, Value*> values_;
  std::vector<Node*> nodes_;
};

/// The match of a pattern whose root is this node, in either operand order of commutative operators. Inner
/// nodes must be used by the match only.
std::optional<Match> match(const Pattern&, Node& root);

}  // namespace tenon
