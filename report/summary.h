// A model in numbers: what it holds, what it costs, and how its sizes came about.
#pragma once
#include <nlohmann/json.hpp>

#include "pipeline/model.h"
#include "runtime/session.h"

namespace tenon {

struct DTypeWeights {
  DType dtype;
  std::int64_t tensors = 0, numbers = 0;
  std::size_t bytes = 0;
};

struct OperatorCost {
  std::string op;  // "conv", "fused conv+add+relu"
  int count = 0;
  double flops = 0;
};

/// What the operators of one module cost.
struct ModuleCost {
  std::string module;  // "layer3.0.conv2"; empty: the model itself, or unknown
  int depth = 0;       // in a tree: names in the path
  int operators = 0;   // members of fused nodes count one each
  std::int64_t numbers = 0;
  std::size_t bytes = 0;  // of weights; one that several modules share belongs to the first
  double flops = 0;
};

/// Of the graph that runs, at the sizes of some inputs.
struct ModelSummary {
  Bindings sizes;
  std::vector<DTypeWeights> weights;
  std::int64_t numbers = 0;  // in all weights
  std::size_t weight_bytes = 0;
  double flops = 0;
  std::vector<OperatorCost> operators;  // most FLOPs first
  std::vector<OperatorCost> imported;   // before fusion; empty for an artifact
  std::vector<ModuleCost> modules;      // each without those inside it, in the model's order
  std::shared_ptr<const Plan> plan;     // null when the sizes cannot be planned
  std::string no_plan;                  // why
  std::size_t packed_bytes = 0;
  std::vector<std::string> notes;  // what conversion assumed, and what an artifact keeps of that
};

/// Plans with the session (of model.graph). Inputs that do not fit throw Error.
ModelSummary summarize(const Model&, Session&, std::span<const Tensor> inputs);

/// Schema "tenon.model/1" (docs/inspect.md), with both graphs, regions and the plan.
nlohmann::ordered_json to_json(const Model&, const ModelSummary&);

/// Each module and its parents with all that is inside them, parents first, up to a number of names.
std::vector<ModuleCost> module_tree(std::span<const ModuleCost>, int depth);

/// How a dimension of an input got its size: "N: any size from 1 (dim 0 of input x)". A line for each symbol,
/// and one for each input with sizes that are fixed.
std::vector<std::string> explain_sizes(const Model&);

}  // namespace tenon
