// How a kernel does its work where several ways compute the same: cuts, blocks, order, threads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The setting of every knob. A kernel reads those that it has.
struct Schedule {
#define KNOB(Type, name, shared, ...)                   \
  enum class Type : std::uint8_t { rule, __VA_ARGS__ }; \
  Type name = Type::rule;
#include "kernels/schedule.def"

  bool operator==(const Schedule&) const = default;
  /// "block=half,outer=rows"; empty where all is as the kernel's rule says.
  std::string str() const;
  /// What str() gave; nullopt for any other text.
  static std::optional<Schedule> parse(std::string_view text);
  /// With the settings of the other one, where it has some.
  Schedule with(const Schedule& other) const;
};

/// Which knobs there are.
struct Knobs {
#define KNOB(Type, name, shared, ...) bool name = false;
#include "kernels/schedule.def"

  /// Those of either.
  friend Knobs operator|(const Knobs& a, const Knobs& b);
  /// Does the schedule leave all other knobs alone?
  bool have(const Schedule& schedule) const;
  /// Every setting of each of them, one knob at a time; with one thread, of those that matter to it.
  std::vector<Schedule> settings(int threads) const;
};

/// A size that stays in the cache.
constexpr long scaled(long usual, Schedule::Block block) {
  using enum Schedule::Block;
  const long size = block == half ? usual / 2 : block == twice ? usual * 2 : usual;
  return size < 1 ? 1 : size;
}
/// A number of pieces of work.
constexpr long scaled(long usual, Schedule::Pieces pieces) {
  using enum Schedule::Pieces;
  const long count = pieces == few ? usual / 4 : pieces == many ? usual * 4 : usual;
  return count < 1 ? 1 : count;
}

}  // namespace tenon
