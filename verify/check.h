// Whether a graph computes what its source model computes, and where it stops doing so.
#pragma once
#include <functional>
#include <optional>

#include "converter/model.h"
#include "converter/oracle.h"
#include "runtime/compare.h"

namespace tenon {

Tensor to_tensor(const RawTensor&);
RawTensor to_raw(const Tensor&);

/// The source model's outputs in LibTorch, in the graph's order. Throws Error when the outputs do not match
/// the graph's by name.
std::vector<Tensor> torch_outputs(TorchOracle&, const Graph&, std::span<const Tensor> inputs,
                                  const std::string& method = "forward");

struct OutputCheck {
  std::string name;
  Difference difference;
  bool ok = false;
};

/// One check per output.
std::vector<OutputCheck> check_outputs(const Graph&, std::span<const Tensor> outputs,
                                       std::span<const Tensor> expected, double tolerance);
bool all_ok(std::span<const OutputCheck>);

/// Where results part.
struct Divergence {
  enum class Stage {
    conversion,  // an imported node differs from LibTorch's
    fusion,      // a rewrite changes the result
    kernel,      // a step differs from the reference
  } stage;
  std::string what;   // the node or rewrite
  std::string place;  // module and source line
  Difference difference;
};

/// The first of: an imported node whose value LibTorch does not have, a rewrite after which the outputs
/// differ, a node whose kernel differs from the reference. nullopt when none is found.
std::optional<Divergence> bisect(const Model&, TorchOracle&, std::span<const Tensor> inputs, double tolerance,
                                 const FuseOptions& fuse_options);

}  // namespace tenon
