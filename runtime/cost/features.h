// What a cost model sees of a planned step: numbers with names, read off the plan itself.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan.h"

namespace tenon {

/// The numbers of one step; runtime/cost/features.def says what each is, and its unit.
struct Features {
#define FEATURE(name, text) double name = 0;
#include "runtime/cost/features.def"
};

struct FeatureInfo {
  std::string_view name, text;
  double Features::*value;
  bool of_device;
};
inline constexpr std::array feature_table = {
#define FEATURE(name, text) FeatureInfo{#name, text, &Features::name, false},
#define DEVICE_FEATURE(name, text) FeatureInfo{#name, text, &Features::name, true},
#include "runtime/cost/features.def"
};

/// A tensor as a step sees it.
struct TensorUse {
  Strided layout;
  Buffer::Kind from = Buffer::Kind::arena;
};
std::string_view name(Buffer::Kind kind);

/// What is known of a step before it runs, whatever the device's speed.
struct StepFeatures {
  /// Steps of one key do the same work: kernel, operators with their attributes and wiring, and of each
  /// tensor type, shape, strides and whether it is a constant. 16 hexadecimal digits, the same on every
  /// machine.
  std::string key;
  /// The kernel alone, without its epilogue: "winograd6"; "reference index_add" where the interpreter runs.
  std::string kernel;
  std::vector<TensorUse> reads, writes;
  std::vector<std::int64_t> extents;       // of the loop nest: batch, rows, columns, depth; a loop's own dims
  std::vector<std::int64_t> reduced_axes;  // of the operand that is folded
  std::vector<CandidateInfo> candidates;   // what there was to choose from; empty for copies
  std::size_t taken = 0;
  Features numbers;                                   // those of the device are 0
  ArithmeticKind arithmetic = ArithmeticKind::lanes;  // of most of its operations
};

/// One for each step, in order. Of steps that plan while they run (stages) what their last run planned.
std::vector<StepFeatures> features_of(const Plan&);

/// The kernel without its epilogue, as StepFeatures::kernel.
std::string kernel_family(const StepInfo&);

}  // namespace tenon
