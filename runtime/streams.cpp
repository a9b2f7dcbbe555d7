#include "runtime/streams.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace tenon {
namespace {

/// Steps that have their places.
class Assignment {
 public:
  Assignment(std::size_t steps, std::size_t most) : order_(steps), most_(most) {}

  /// The next step's place. What it depends on: the latest first.
  StreamPlace add(std::span<const std::size_t> on) {
    StreamPlace place{.stream = stream_for(on)};
    std::vector<std::size_t> after;
    if (place.stream < last_.size()) after.push_back(last_[place.stream]);
    for (const std::size_t step : on) {
      const bool is_implied = std::ranges::any_of(
          after, [&](std::size_t other) { return other == step || order_.precedes(step, other); });
      if (is_implied) continue;
      after.push_back(step);
      place.after.push_back(step);
    }
    std::ranges::reverse(place.after);
    last_.resize(std::max(last_.size(), place.stream + 1));
    last_[place.stream] = order_.size();
    order_.add(after);
    return place;
  }

 private:
  // One that ends with a step of these; else with a step before them; else a new one; else what ends first.
  std::size_t stream_for(std::span<const std::size_t> on) const {
    const auto number = [&](auto stream) { return static_cast<std::size_t>(stream - last_.begin()); };
    for (const std::size_t step : on)
      if (const auto found = std::ranges::find(last_, step); found != last_.end()) return number(found);
    const auto idle = std::ranges::find_if(last_, [&](std::size_t last) {
      return std::ranges::any_of(on, [&](std::size_t step) { return order_.precedes(last, step); });
    });
    if (idle != last_.end()) return number(idle);
    return last_.size() < most_ ? last_.size() : number(std::ranges::min_element(last_));
  }

  StepOrder order_;
  std::size_t most_;
  std::vector<std::size_t> last_;  // step of each stream
};

std::vector<StepRange> enqueued_ranges(std::span<const std::unique_ptr<Step>> steps) {
  const auto enqueues = [](const auto& step) {
    return step->info.kind == StepKind::kernel || step->info.kind == StepKind::copy;
  };
  std::vector<StepRange> ranges;
  for (auto step = steps.begin(); step != steps.end();) {
    const auto first = std::find_if(step, steps.end(), enqueues);
    step = std::find_if_not(first, steps.end(), enqueues);
    if (step - first > 1)
      ranges.push_back(
          {static_cast<std::size_t>(first - steps.begin()), static_cast<std::size_t>(step - steps.begin())});
  }
  return ranges;
}

// One that fills the device leaves no room beside it.
void add_full_device(std::vector<Dependency>& dependencies, std::span<const std::unique_ptr<Step>> steps) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i]->fills_device) continue;
    if (before) dependencies.push_back({i, *before, Hazard::full_device});
    before = i;
  }
  std::ranges::stable_sort(dependencies, {}, &Dependency::step);
}

}  // namespace

std::vector<StreamPlace> assign_streams(std::size_t steps, std::span<const Dependency> dependencies,
                                        std::size_t most) {
  Assignment assignment(steps, most);
  std::vector<StreamPlace> places;
  auto next = dependencies.begin();
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<std::size_t> on;
    for (; next != dependencies.end() && next->step == step; ++next) on.push_back(next->on);
    std::ranges::sort(on, std::greater());
    places.push_back(assignment.add(on));
  }
  return places;
}

std::size_t count_streams(std::span<const StreamPlace> places) {
  std::size_t count = 0;
  for (const StreamPlace& place : places) count = std::max(count, place.stream + 1);
  return count;
}

std::size_t depth(std::span<const StreamPlace> places) {
  std::vector<std::size_t> depths, of_stream(count_streams(places));
  for (const StreamPlace& place : places) {
    std::size_t before = of_stream[place.stream];
    for (const std::size_t step : place.after) before = std::max(before, depths[step]);
    depths.push_back(of_stream[place.stream] = before + 1);
  }
  return depths.empty() ? 0 : std::ranges::max(depths);
}

std::vector<RecordedRange> recorded_ranges(std::span<const std::unique_ptr<Step>> steps,
                                           std::size_t most_streams) {
  std::vector<RecordedRange> recorded;
  for (const StepRange& range : enqueued_ranges(steps)) {
    const auto part = steps.subspan(range.begin, range.end - range.begin);
    std::vector<Dependency> found = dependencies(part);
    add_full_device(found, part);
    recorded.push_back({range, assign_streams(part.size(), found, most_streams)});
  }
  return recorded;
}

StepOrder order_of(std::size_t steps, std::span<const RecordedRange> ranges) {
  StepOrder order(steps);
  const auto add_alone = [&](std::size_t before) {
    while (order.size() < before) {
      order.add_barrier();
      order.add({});
    }
    order.add_barrier();
  };
  for (const RecordedRange& range : ranges) {
    add_alone(range.begin);
    std::vector<std::optional<std::size_t>> last(count_streams(range.places));
    for (const StreamPlace& place : range.places) {
      std::vector<std::size_t> after;
      for (const std::size_t other : place.after) after.push_back(range.begin + other);
      if (last[place.stream]) after.push_back(*last[place.stream]);
      last[place.stream] = order.size();
      order.add(after);
    }
  }
  add_alone(steps);
  return order;
}

}  // namespace tenon
