// A plan: the steps of a graph for one signature, over one arena.
#pragma once
#include <memory>
#include <unordered_map>

#include "ir/graph.h"
#include "runtime/buffers.h"
#include "runtime/candidate.h"
#include "runtime/step.h"
#include "runtime/streams.h"

namespace tenon {

/// A value in a table of tensors, or a constant.
struct Slot {
  std::size_t number = 0;
  Tensor constant;
  const Tensor& of(std::span<const Tensor> values) const {
    return constant.defined() ? constant : values[number];
  }
};

/// Immutable. Runs of one plan at the same time need an arena each.
struct Plan {
  std::unique_ptr<const Graph> graph;  // of known sizes, decomposed as far as the steps are
  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<const Node*> nodes;                            // of each step; null for copies of results
  std::unordered_map<const Value*, PlannedTensor> assigned;  // where the graph's values lie
  std::vector<Choice> choices;                               // what there was to choose from, in order
  std::vector<Type> inputs, outputs;
  std::size_t arena_bytes = 0;         // of the device's memory
  std::size_t one_stream_bytes = 0;    // that the arena would have if all steps ran in their order
  std::size_t scratch_bytes = 0;       // behind the arena
  std::size_t staging_bytes = 0;       // for inputs and outputs that the host gives
  std::size_t pinned_arena_bytes = 0;  // of pinned memory
  std::size_t host_scratch_bytes = 0;  // behind it
  std::size_t faults = 0;              // of all steps
  bool shares_memory = true;           // the host reads the device's (Device::shares_memory)
  /// Where sizes are given while the plan runs, its steps exchange tensors: in a table of so many, the inputs
  /// first, among which are the results.
  std::size_t values = 0;
  std::vector<Slot> results;
  bool takes_values() const { return values > 0; }
  /// Where the device records: steps that only enqueue, which runs start together.
  std::vector<RecordedRange> recorded;

  /// Runs the steps. Its errors say where in the source a step comes from.
  void run(StepRange range, const Frame& frame) const;

  /// The planned stage: a line for each step, with kernel, buffers and arena offsets.
  std::string text() const;
  /// Bytes of the arena's buffers that are alive during each step.
  std::vector<std::size_t> live_bytes() const;
  /// Steps that copy.
  int copies() const;
  /// Bytes of the buffers of a kind that steps touch.
  std::size_t bytes_of(Buffer::Kind) const;
  /// What the first step with a fault says; nullopt where there is none.
  std::optional<Error> failure(std::span<const Fault> found) const;
};

}  // namespace tenon
