// A graph as JSON, for other programs: the schema tenon.graph/1, which docs/graph_json.md describes.
#pragma once
#include <nlohmann/json.hpp>

#include "ir/graph.h"

namespace tenon::exporter {

/// Everything of the graph but the weights' data.
nlohmann::ordered_json graph_json(const Graph&);

}  // namespace tenon::exporter
