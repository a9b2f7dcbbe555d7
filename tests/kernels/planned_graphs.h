// Small graphs whose plans are GPU cases.
#pragma once
#include <string>
#include <vector>

namespace tenon::gpu {

/// What floats among a graph's inputs are: normally distributed; of few different values, with NaN,
/// infinities and zeros of both signs; positive.
enum class Values { plain, ordered, positive };

struct PlannedGraph {
  std::string name;  // of the case
  std::string text;  // behind the graph's name: "(%x: f32[3]) {...}"
  Values values = Values::plain;
  double tolerance = 0;  // 0: the one of the dtype
  int places = 0;        // indices (%i, %j) are below, where the graph does not say it
};

/// Each operator that the GPU lowers, in each form of its kernels.
const std::vector<PlannedGraph>& planned_graphs();

}  // namespace tenon::gpu
