// A prediction, ready to be written as text and JSON (schema tenon.prediction/1, docs/prediction.md).
#pragma once
#include <nlohmann/json.hpp>

#include "report/profile.h"
#include "runtime/cost/predict.h"

namespace tenon {

struct PredictionReport {
  ModelInfo model;
  Bindings sizes;
  MachineDescription machine;
  int threads = 1;
  Prediction prediction;
  std::vector<StepRow> steps;  // with predicted times
};

/// The model's plan for these inputs.
PredictionReport prediction_report(const Model&, const Plan&, Bindings sizes, const MachineDescription&,
                                   int threads, const std::map<std::string, double>& measured);

nlohmann::ordered_json to_json(const PredictionReport&);
/// The whole, and at most `top` steps (0: all), or modules down to `depth` names.
std::string steps_text(const PredictionReport&, std::size_t top);
std::string modules_text(const PredictionReport&, std::size_t top, int depth);

}  // namespace tenon
