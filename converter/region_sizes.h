// Sizes that an if or a loop gives when it has run.
#pragma once
#include <map>
#include <span>
#include <string>
#include <utility>

#include "converter/builder.h"
#include "ir/ops/control.h"

namespace tenon::converter {

/// Sizes that are one thing behind the first branch of an if and another behind the second: each pair has one
/// name.
class BranchSizes {
 public:
  Dim either(Builder&, const Dim& a, const Dim& b);
  /// The type of output `at` of the if, of which its branches give `a` and `b`: of one dtype and rank.
  Type either(Builder&, const Type& a, const Type& b, std::size_t at, If&);

 private:
  std::map<std::pair<std::string, std::string>, Dim> sizes_;
};

/// The axes of carried values that a step gives another size, found by writing the body again until no more
/// are found. Each has a name for its size: one for those that begin with one size and change alike.
class StepSizes {
 public:
  /// A carried value by a key that stays the same from attempt to attempt.
  struct Carried {
    std::string key;
    Shape initial, before, after;  // before the loop; before and after a step
  };

  bool operator==(const StepSizes& other) const { return names_ == other.names_; }

  /// Forgets the sizes before a step that the last attempt had.
  void begin() { before_.clear(); }
  /// The type of a value before a step.
  Type before_step(Builder&, const std::string& key, Type initial);
  /// True when an axis changes that was not known to, or two of one name change in two ways: the body must be
  /// written again.
  bool learn(std::span<const Carried>);
  /// Gives the loop these sizes; the values stand in its order. Those of its slices follow (Loop::at).
  void complete(Loop&, Builder&, std::span<const Carried>) const;
  /// Whether a size of this shape is known in the loop's body alone: each step may have another.
  bool depends_on_step(const Region& body, const Shape&) const;

 private:
  std::map<std::pair<std::string, std::size_t>, std::string> names_;  // by a value's key and an axis
  std::map<std::string, Dim> before_;                                 // by their names
};

/// The size, which the loop gives when it has run, of the first axis of all slices behind its carried values.
void give_slices(Loop&, Builder&, std::size_t count);

}  // namespace tenon::converter
