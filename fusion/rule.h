// A rewrite rule: before, condition, after.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fusion/pass.h"
#include "fusion/pattern.h"
#include "ir/build.h"

namespace tenon {

struct Rule {
  std::string_view name;
  /// Spellings of the same computation.
  std::vector<Pattern> patterns;
  /// False when the match is not one that the rule is meant for; nothing is reported then.
  std::function<bool(const Match&)> when = [](const Match&) { return true; };
  /// Empty when the rule applies, else the reason why it does not. --explain-fusion prints it.
  std::function<std::string(const Match&)> refuse = [](const Match&) { return std::string(); };
  /// The replacement of the root's value.
  std::function<Ref(const Match&, const InsertionPoint&)> build;
};

std::vector<std::string_view> names(std::span<const Rule> rules);
/// A weight whose numbers are there: a graph may be without its data.
inline bool has_numbers(const Value* v) { return v->kind() == Value::Kind::weight && v->tensor().defined(); }
/// Sweeps over the nodes, first to last, until no rule applies. Replaced nodes are erased.
void apply_rules(Rewriter&, std::span<const Rule> rules);

}  // namespace tenon
