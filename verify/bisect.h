// Where results part: the first value, or the rewrite, that is wrong.
#pragma once
#include <functional>
#include <optional>

#include "converter/model.h"
#include "runtime/device.h"
#include "verify/outputs.h"
#include "verify/torch.h"

namespace tenon {

/// Inputs of one run, in the graph's order.
using Inputs = std::vector<Tensor>;

/// Where results part.
struct Divergence {
  enum class Stage : std::uint8_t {
    conversion,  // an imported node differs from LibTorch's
    fusion,      // a rewrite changes the result
    kernel,      // a step differs from the reference
  } stage;
  std::string what;   // the node or rewrite
  std::string place;  // module and source line
  Difference difference;
};

struct BisectOptions {
  Tolerance tolerance;
  FuseOptions fuse;  // as the model was fused
  std::string method = "forward";
  TorchOracle* torch = nullptr;  // null: the conversion is taken to be right
};

/// The first of: an imported node whose value LibTorch does not have, a rewrite after which the outputs
/// differ, a node whose kernel differs from the reference. nullopt when none is found.
std::optional<Divergence> bisect(const Model&, const std::vector<Inputs>& samples, const BisectOptions&);

}  // namespace tenon
