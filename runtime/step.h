// One step of a plan: a kernel call with everything decided.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/source.h"
#include "kernels/peak.h"
#include "kernels/schedule.h"
#include "runtime/buffers.h"

namespace tenon {

struct Plan;

/// What a step is, whatever the device calls its kernel.
enum class StepKind : std::uint8_t {
  kernel,     // compiled code
  copy,       // elements from one place to another, of the device or the host
  reference,  // the interpreter
  program,    // plans of regions or stages
};

/// What is known of a step without running it: for --print-ir=planned and for profiles.
struct StepInfo {
  StepKind kind = StepKind::kernel;
  std::string op;      // operators it computes: "conv+add+relu"
  std::string kernel;  // "winograd6+relu", "gemm", "loop"
  Source source;
  double flops = 0;
  ArithmeticKind arithmetic = ArithmeticKind::lanes;  // of most of these
  double bytes = 0;                                   // read and written
};

/// Immutable once planned; run() may be called from several threads at once on different frames.
/// It allocates nothing, except where it runs an operator's reference, or a library that allocates (spectra
/// of matrices).
class Step {
 public:
  virtual ~Step() = default;
  /// Called by the host. Enqueues the work; or waits for the queue, and works on pinned memory, unless a
  /// fault was found: what it would read is made of wrong data.
  virtual void run(const Frame&) const = 0;
  /// Called once the whole plan is known to be possible. request() begins to make ready what the step runs,
  /// beside what other steps run; compile() returns when it is ready.
  virtual void request() {}
  virtual void compile() {}
  /// What the step's faults (at least one was found) say.
  virtual std::optional<Error> failure(std::span<const Fault>) const { return std::nullopt; }

  /// A step that does what both do, neither of which touches what the other writes, with one start of a
  /// kernel. Null: there is none. Of its info the kernel is set, and neither what it reads nor what it
  /// writes.
  virtual std::unique_ptr<Step> joined(const Step& other) const {
    (void)other;
    return nullptr;
  }
  /// Of a step that runs regions: their plans.
  virtual std::vector<std::shared_ptr<const Plan>> plans() const { return {}; }

  /// The step's own among those of its plan.
  std::span<Fault> faults_in(std::span<Fault> all) const { return all.subspan(first_fault, faults); }
  std::span<const Fault> faults_in(std::span<const Fault> all) const {
    return all.subspan(first_fault, faults);
  }

  StepInfo info;
  Schedule schedule = {};              // set by the planner: the candidate's
  bool fills_device = false;           // compile() says it: nothing gains from running beside it
  std::size_t scratch_bytes = 0;       // that run() needs of the frame, in the device's memory
  std::size_t host_scratch_bytes = 0;  // and in pinned memory
  std::size_t faults = 0;              // that it may report
  std::size_t first_fault = 0;         // set by the planner
  std::vector<PlannedTensor> reads, writes;
};

}  // namespace tenon
