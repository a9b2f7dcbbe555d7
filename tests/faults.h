// Devices that are wrong or slow on purpose.
#pragma once
#include <chrono>
#include <vector>

#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon::testing {

/// What is planned behind an operator's own steps.
using Fault = void (*)(Planner&, const Group&);

/// The CPU with a fault in its kernels for T.
template <class T, Fault fault>
const Device& faulty_device(std::string_view name) {
  static const Device* const sound = &cpu_device();
  static const Lowering lower = [](const Planner& planner, const Group& group) {
    std::vector<Candidate> candidates;
    for (const OpLowering& entry : sound->lowerings) {
      if (entry.op != &op_info<T>()) continue;
      for (Candidate& c : entry.lower(planner, group))
        candidates.push_back({c.info, [emit = std::move(c.emit)](Planner& p, const Group& g) {
                                emit(p, g);
                                fault(p, g);
                              }});
    }
    return candidates;
  };
  static const std::vector<OpLowering> lowerings = [] {
    std::vector<OpLowering> list(sound->lowerings.begin(), sound->lowerings.end());
    for (OpLowering& entry : list)
      if (entry.op == &op_info<T>()) entry.lower = lower;
    return list;
  }();
  static const Device device = [&] {
    Device changed = *sound;
    changed.name = name;
    changed.lowerings = lowerings;
    return changed;
  }();
  return device;
}

/// Adds to one element of a value.
class Spoil : public CpuStep {
 public:
  explicit Spoil(Address at) : at_(at) { info.kernel = "spoil"; }
  void compute(const CpuFrame& frame) const override { *frame.at<float>(at_) += 0.5f; }

 private:
  Address at_;
};

inline void spoil(Planner& planner, const Group& group) {
  const PlannedTensor place = planner.assignment().at(group.node().output());
  planner.emit(std::make_unique<Spoil>(place.address()), group.node(), {place}, {place});
}

/// Keeps the CPU busy.
class Delay : public CpuStep {
 public:
  explicit Delay(std::chrono::microseconds time) : time_(time) { info.kernel = "delay"; }
  void compute(const CpuFrame&) const override {
    const auto end = std::chrono::steady_clock::now() + time_;
    while (std::chrono::steady_clock::now() < end) {}
  }

 private:
  std::chrono::microseconds time_;
};

/// Delays the operators of modules whose path has `part` in it; none where it is empty.
inline void delay(Planner& planner, const Group& group, std::string_view part,
                  std::chrono::microseconds time) {
  if (!part.empty() && group.node().source.modules_text().find(part) != std::string::npos)
    planner.emit(std::make_unique<Delay>(time), group.node(), {}, {});
}

/// The CPU with a wrong kernel for T.
template <class T>
const Device& device_with_wrong() {
  return faulty_device<T, spoil>("wrong");
}

}  // namespace tenon::testing
