// Graphs and plans as JSON: parts of the schema "tenon.model/1" (docs/inspect.md).
#pragma once
#include <nlohmann/json.hpp>

#include "ir/graph.h"
#include "runtime/plan.h"

namespace tenon {

/// {"inputs", "nodes", "results"} of the body: operators, text, module, source line, operands, results with
/// types and origins, members of fused nodes, and FLOPs at these sizes. With `fused`, each node says which of
/// that graph's nodes replaced it, by index ("fused": null for none).
nlohmann::ordered_json to_json(const Graph&, const Bindings& sizes, const Graph* fused = nullptr);

/// The steps in order: operators, kernel, module, FLOPs, bytes, origins of their results, and the bytes of
/// the arena that are alive.
nlohmann::ordered_json steps_json(const Plan&);

/// What there was to choose from, in the order of the steps: for each group its candidates, with what was
/// estimated of them, and by number which was taken; the same of the plans that its steps run.
nlohmann::ordered_json choices_json(const Plan&);

}  // namespace tenon
