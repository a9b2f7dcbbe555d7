// What a device offers for a group of operators: candidates, of which the planner takes one.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/peak.h"
#include "kernels/schedule.h"
#include "runtime/layout.h"

namespace tenon {

class Group;
class Planner;

/// The size of a kernel's work, in the words of a matrix product: what a cost model sees of it. What a kernel
/// has not, is 1.
struct Work {
  double flops = 0;
  double bytes = 0;          // read and written
  std::int64_t batch = 1;    // independent products, heads, images
  std::int64_t rows = 1;     // output pixels, queries, rows of a reduction
  std::int64_t columns = 1;  // output channels, row lengths
  std::int64_t depth = 1;    // what is summed for one element
  /// Of its multiply-adds; none: that of the result's dtype (arithmetic.h).
  std::optional<ArithmeticKind> arithmetic = {};
};

/// What is known of a candidate without running it.
struct CandidateInfo {
  std::string kernel;  // as the step will call it: "winograd6+bias+relu"
  Work work = {};
  double seconds = 0;            // estimated, with the copies that its layouts need
  Order order = {};              // in which it reads and writes; empty: any
  std::string weights = {};      // the form that they are packed in; empty: they are read as they are
  std::size_t weight_bytes = 0;  // that this form takes
  std::size_t scratch_bytes = 0;
  Knobs knobs = {};  // of the schedules that it can run by
  /// The group in two parts, of which the second begins with this member (group_split.h); 0: as a whole. An
  /// estimate never takes it.
  std::size_t splits_before = 0;
};

/// The name of a kernel that runs by a schedule: "gemm+bias (block=half)", or as it is by its own rule.
std::string scheduled(const std::string& kernel, const Schedule& schedule);

/// One way to compute a group. To make it changes nothing.
struct Candidate {
  CandidateInfo info;
  /// Assigns memory to the group's results and adds its steps to the plan.
  std::function<void(Planner&, const Group&)> emit;
};

/// The ways in which a device computes a group; none where it cannot.
using Lowering = std::vector<Candidate> (*)(const Planner&, const Group&);

/// What there was to choose from for a group.
struct Choice {
  std::string group;  // "conv+relu f32[1,64,56,56]"
  std::string key;    // choice_key (runtime/tuning/choices.h)
  std::string source;
  std::vector<CandidateInfo> candidates;  // the kernel of the one that is taken has its schedule (scheduled)
  std::vector<CandidateInfo> splits;      // the group in two parts; one that is taken is among the candidates
  std::size_t taken = 0;
  std::string why;
  std::size_t first_step = 0, steps = 0;   // of the plan
  std::optional<std::size_t> joined = {};  // no step of its own: what it computes is a part of this one
  bool is_part = false;  // of the split group before it, whose steps have its own among them
};

/// Which candidate is taken, and why. There is one at least.
struct Decision {
  std::size_t candidate = 0;
  std::string why;
  Schedule schedule = {};  // by which it runs: of its knobs
};
/// Sessions call it from each thread that plans.
using Chooser = std::function<Decision(const Group&, std::span<const CandidateInfo>)>;

/// The least estimate of the group as a whole; of equal ones the first.
Decision least_estimate(const Group&, std::span<const CandidateInfo>);
/// The least estimate among those of the group as a whole whose packed weights take no more than a quarter
/// more than the weights themselves, or than the least packed ones: neither Winograd's nor Strassen's.
Decision weights_once(const Group&, std::span<const CandidateInfo>);
/// The least estimate among those of the group as a whole whose packed weights take least memory, or up to a
/// quarter more, as edges of tiles differ. Those that take four times as long as the least estimate do not
/// count.
Decision least_weights(const Group&, std::span<const CandidateInfo>);

}  // namespace tenon
