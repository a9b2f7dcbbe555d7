// One step of a plan: a kernel call with everything decided.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/source.h"
#include "runtime/buffers.h"

namespace tenon {

struct Plan;

/// What a step is, whatever the device calls its kernel.
enum class StepKind : std::uint8_t {
  kernel,     // compiled code
  copy,       // elements from one place to another
  reference,  // the interpreter
  program,    // plans of regions or stages
};

/// What is known of a step without running it: for --print-ir=planned and for profiles.
struct StepInfo {
  StepKind kind = StepKind::kernel;
  std::string op;      // operators it computes: "conv+add+relu"
  std::string kernel;  // "winograd f6x6", "gemm", "loop"
  Source source;
  double flops = 0;
  double bytes = 0;  // read and written
};

/// Immutable once planned; run() may be called from several threads at once on different frames.
/// It allocates nothing, except where it is of the kind `reference`.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Frame&) const = 0;

  /// Of a step that runs regions: their plans.
  virtual std::vector<std::shared_ptr<const Plan>> plans() const { return {}; }

  StepInfo info;
  std::size_t scratch_bytes = 0;  // that run() needs of the frame
  std::vector<PlannedTensor> reads, writes;
};

}  // namespace tenon
