// Which steps come before which others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

/// A set of steps.
class StepSet {
 public:
  explicit StepSet(std::size_t steps) : words_((steps + 63) / 64) {}
  void add(std::size_t step) { words_[step / 64] |= bit(step); }
  bool contains(std::size_t step) const { return (words_[step / 64] & bit(step)) != 0; }
  void add_all(const StepSet& other);
  void keep(const StepSet& other);
  bool is_within(const StepSet& other) const;

 private:
  static std::uint64_t bit(std::size_t step) { return std::uint64_t{1} << step % 64; }
  std::vector<std::uint64_t> words_;
};

/// A partial order of at most `steps` steps, which are added one by one.
class StepOrder {
 public:
  explicit StepOrder(std::size_t steps) : steps_(steps), before_barrier_(steps) {}

  /// Steps that are added from now on come after all that are there.
  void add_barrier();
  /// The next step comes after these, and what comes before them.
  void add(std::span<const std::size_t> after);

  std::size_t size() const { return before_.size(); }
  const StepSet& before(std::size_t step) const { return before_[step]; }
  bool precedes(std::size_t earlier, std::size_t later) const { return before_[later].contains(earlier); }

 private:
  std::size_t steps_;
  StepSet before_barrier_;
  std::vector<StepSet> before_;
};

}  // namespace tenon
